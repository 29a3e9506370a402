// Buffers: bytes with the function that frees them.
#ifndef THALWEG_C_TF_BUFFER_H_
#define THALWEG_C_TF_BUFFER_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_Buffer {
  const void* data;
  size_t length;
  void (*data_deallocator)(void* data, size_t length);
} TF_Buffer;

TF_Buffer* TF_NewBuffer(void);
TF_Buffer* TF_NewBufferFromString(const void* proto, size_t length);
void TF_DeleteBuffer(TF_Buffer* buffer);
TF_Buffer TF_GetBuffer(const TF_Buffer* buffer);

#ifdef __cplusplus
}
#endif

#endif
