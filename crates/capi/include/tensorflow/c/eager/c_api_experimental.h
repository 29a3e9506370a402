// What bindings use of the experimental functions of eager execution.
#ifndef THALWEG_C_EAGER_C_API_EXPERIMENTAL_H_
#define THALWEG_C_EAGER_C_API_EXPERIMENTAL_H_

#include "tensorflow/c/eager/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TFE_Executor TFE_Executor;

TFE_Executor* TFE_NewExecutor(bool is_async, bool streaming, int limit);
void TFE_DeleteExecutor(TFE_Executor* executor);
bool TFE_ExecutorIsAsync(const TFE_Executor* executor);
void TFE_ExecutorWaitForAllPendingNodes(const TFE_Executor* executor, TF_Status* status);
void TFE_ExecutorClearError(const TFE_Executor*);
void TFE_ContextSetExecutorForThread(const TFE_Context*, const TFE_Executor*);
TFE_Executor* TFE_ContextGetExecutorForThread(const TFE_Context*);
void TFE_ContextAsyncWait(const TFE_Context* context, TF_Status* status);
void TFE_ContextSetSoftDevicePlacement(const TFE_Context* context, unsigned char enable, TF_Status* status);
void TFE_ContextSetLogDevicePlacement(const TFE_Context* context, unsigned char, TF_Status* status);
void TFE_ContextGetFunctionDef(const TFE_Context* context, const char* name, TF_Buffer* into, TF_Status* status);
TF_Function* TFE_ContextGetFunction(const TFE_Context* context, const char* name, TF_Status* status);
TF_Tensor* TFE_AllocateHostTensor(const TFE_Context* context, TF_DataType dtype, const int64_t* dims, int num_dims, TF_Status* status);
TFE_TensorHandle* TFE_NewTensorHandleFromTensor(const TFE_Context* context, const TF_Tensor* tensor, TF_Status* status);
TFE_TensorHandle* TFE_NewTensorHandleFromScalar(TF_DataType dtype, const void* data, size_t length, TF_Status* status);
// A number for the context: the same as long as it lives.
uint64_t TFE_GetContextId(const TFE_Context* context);

#ifdef __cplusplus
}
#endif

#endif
