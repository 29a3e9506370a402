// Elements of string tensors. A string must be initialised before it is used, and freed if it was copied into.
#ifndef THALWEG_C_TF_TSTRING_H_
#define THALWEG_C_TF_TSTRING_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum TF_TString_Type {
  TF_TSTR_SMALL = 0,
  TF_TSTR_LARGE = 1,
  TF_TSTR_OFFSET = 2,
  TF_TSTR_VIEW = 3
} TF_TString_Type;

// The forms are the library's: use the functions.
typedef struct TF_TString {
  uint64_t words[3];
} TF_TString;

void TF_StringInit(TF_TString* string);
void TF_StringCopy(TF_TString* string, const char* bytes, size_t size);
void TF_StringAssignView(TF_TString* string, const char* bytes, size_t size);
const char* TF_StringGetDataPointer(const TF_TString* string);
TF_TString_Type TF_StringGetType(const TF_TString* string);
size_t TF_StringGetSize(const TF_TString* string);
size_t TF_StringGetCapacity(const TF_TString* string);
void TF_StringDealloc(TF_TString* string);

#ifdef __cplusplus
}
#endif

#endif
