// Tensors: elements in memory, with a type and a shape. A tensor has one owner, who deletes it.
#ifndef THALWEG_C_TF_TENSOR_H_
#define THALWEG_C_TF_TENSOR_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_datatype.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow/c/tf_tstring.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_Tensor TF_Tensor;

size_t TF_DataTypeSize(TF_DataType dtype);
TF_Tensor* TF_NewTensor(TF_DataType dtype, const int64_t* dims, int num_dims, void* data, size_t length, void (*deallocator)(void* data, size_t length, void* arg), void* arg);
size_t TF_TensorDefaultAlignment(void);
TF_Tensor* TF_AllocateTensor(TF_DataType dtype, const int64_t* dims, int num_dims, size_t length);
// The memory in another tensor, if this is its only owner; the old one is as it was.
TF_Tensor* TF_TensorMaybeMove(const TF_Tensor* from);
void TF_DeleteTensor(TF_Tensor* tensor);
TF_DataType TF_TensorType(const TF_Tensor* tensor);
void TF_SetShape(TF_Tensor* tensor, const int64_t* dims, int num_dims);
int TF_NumDims(const TF_Tensor* tensor);
// -1 where there is no such dimension.
int64_t TF_Dim(const TF_Tensor* tensor, int index);
size_t TF_TensorByteSize(const TF_Tensor* tensor);
void* TF_TensorData(const TF_Tensor* tensor);
int64_t TF_TensorElementCount(const TF_Tensor* tensor);
bool TF_TensorIsAligned(const TF_Tensor* tensor);
// Makes `to` a view of the bytes of `from`.
void TF_TensorBitcastFrom(const TF_Tensor* from, TF_DataType dtype, TF_Tensor* to, const int64_t* dims, int num_dims, TF_Status* status);
void TF_TensorFromProto(const TF_Buffer* from, TF_Tensor* to, TF_Status* status);

#ifdef __cplusplus
}
#endif

#endif
