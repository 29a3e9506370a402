// Eager execution: ops run as they are called. Handles that are returned belong to the caller.
#ifndef THALWEG_C_EAGER_C_API_H_
#define THALWEG_C_EAGER_C_API_H_

#include "tensorflow/c/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TFE_ContextOptions TFE_ContextOptions;
typedef struct TFE_Context TFE_Context;
typedef struct TFE_TensorHandle TFE_TensorHandle;
typedef struct TFE_TensorDebugInfo TFE_TensorDebugInfo;
typedef struct TFE_Op TFE_Op;

typedef enum TFE_ContextDevicePlacementPolicy {
  TFE_DEVICE_PLACEMENT_EXPLICIT = 0,
  TFE_DEVICE_PLACEMENT_WARN = 1,
  TFE_DEVICE_PLACEMENT_SILENT = 2,
  TFE_DEVICE_PLACEMENT_SILENT_FOR_INT32 = 3
} TFE_ContextDevicePlacementPolicy;

void TFE_OpSetAttrString(TFE_Op* op, const char* name, const void* value, size_t length);
void TFE_OpSetAttrInt(TFE_Op* op, const char* name, int64_t value);
void TFE_OpSetAttrFloat(TFE_Op* op, const char* name, float value);
void TFE_OpSetAttrBool(TFE_Op* op, const char* name, unsigned char value);
void TFE_OpSetAttrType(TFE_Op* op, const char* name, TF_DataType value);
void TFE_OpSetAttrShape(TFE_Op* op, const char* name, const int64_t* dims, int num_dims, TF_Status* status);
void TFE_OpSetAttrFunction(TFE_Op* op, const char* name, const TFE_Op* value);
void TFE_OpSetAttrFunctionName(TFE_Op* op, const char* name, const void* value, size_t length);
void TFE_OpSetAttrTensor(TFE_Op* op, const char* name, const TF_Tensor* value, TF_Status* status);
void TFE_OpSetAttrStringList(TFE_Op* op, const char* name, const void* const* values, const size_t* lengths, int count);
void TFE_OpSetAttrIntList(TFE_Op* op, const char* name, const int64_t* values, int count);
void TFE_OpSetAttrFloatList(TFE_Op* op, const char* name, const float* values, int count);
void TFE_OpSetAttrBoolList(TFE_Op* op, const char* name, const unsigned char* values, int count);
void TFE_OpSetAttrTypeList(TFE_Op* op, const char* name, const TF_DataType* values, int count);
void TFE_OpSetAttrShapeList(TFE_Op* op, const char* name, const int64_t** dims, const int* num_dims, int count, TF_Status* status);
void TFE_OpSetAttrFunctionList(TFE_Op* op, const char* name, const TFE_Op** values, int count);
void TFE_OpSetAttrValueProto(TFE_Op* op, const char* name, const void* proto, size_t length, TF_Status* status);
TFE_ContextOptions* TFE_NewContextOptions(void);
void TFE_DeleteContextOptions(TFE_ContextOptions* options);
void TFE_ContextOptionsSetConfig(TFE_ContextOptions* options, const void* proto, size_t length, TF_Status* status);
// Ops are run before `TFE_Execute` returns, which nobody can tell from their being run later.
void TFE_ContextOptionsSetAsync(TFE_ContextOptions*, unsigned char);
// Everything is run by this engine.
void TFE_ContextOptionsSetTfrt(TFE_ContextOptions*, bool);
void TFE_ContextOptionsSetDevicePlacementPolicy(TFE_ContextOptions* options, TFE_ContextDevicePlacementPolicy policy);
TFE_Context* TFE_NewContext(const TFE_ContextOptions* options, TF_Status* status);
void TFE_DeleteContext(TFE_Context* context);
TF_DeviceList* TFE_ContextListDevices(const TFE_Context* context, TF_Status* status);
void TFE_ContextClearCaches(const TFE_Context* context);
void TFE_ContextSetThreadLocalDevicePlacementPolicy(const TFE_Context* context, TFE_ContextDevicePlacementPolicy policy);
TFE_ContextDevicePlacementPolicy TFE_ContextGetDevicePlacementPolicy(const TFE_Context* context);
void TFE_ContextSetServerDef(const TFE_Context*, int, const void*, size_t, TF_Status* status);
void TFE_ContextAddFunctionDef(const TFE_Context* context, const char* proto, size_t length, TF_Status* status);
void TFE_ContextAddFunction(const TFE_Context* context, const TF_Function* function, TF_Status* status);
void TFE_ContextRemoveFunction(const TFE_Context* context, const char* name, TF_Status* status);
unsigned char TFE_ContextHasFunction(const TFE_Context* context, const char* name);
// What ran when is told by sessions, not by contexts.
void TFE_ContextEnableRunMetadata(const TFE_Context*);
void TFE_ContextDisableRunMetadata(const TFE_Context*);
void TFE_ContextExportRunMetadata(const TFE_Context* context, TF_Buffer* into, TF_Status* status);
void TFE_ContextStartStep(const TFE_Context*);
void TFE_ContextEndStep(const TFE_Context*);
TFE_TensorHandle* TFE_NewTensorHandle(const TF_Tensor* tensor, TF_Status* status);
void TFE_DeleteTensorHandle(TFE_TensorHandle* h);
TF_DataType TFE_TensorHandleDataType(const TFE_TensorHandle* h);
int TFE_TensorHandleNumDims(const TFE_TensorHandle* h, TF_Status* status);
int64_t TFE_TensorHandleNumElements(const TFE_TensorHandle* h, TF_Status* status);
int64_t TFE_TensorHandleDim(const TFE_TensorHandle* h, int index, TF_Status* status);
const char* TFE_TensorHandleDeviceName(const TFE_TensorHandle* h, TF_Status* status);
const char* TFE_TensorHandleBackingDeviceName(const TFE_TensorHandle* h, TF_Status* status);
const char* TFE_TensorHandleDeviceType(const TFE_TensorHandle* h, TF_Status* status);
int TFE_TensorHandleDeviceID(const TFE_TensorHandle* h, TF_Status* status);
// A value that is there has been computed.
void TFE_TensorHandleGetStatus(const TFE_TensorHandle* h, TF_Status* status);
TFE_TensorHandle* TFE_TensorHandleCopySharingTensor(const TFE_TensorHandle* h, TF_Status* status);
TF_Tensor* TFE_TensorHandleResolve(const TFE_TensorHandle* h, TF_Status* status);
TFE_TensorHandle* TFE_TensorHandleCopyToDevice(const TFE_TensorHandle* h, const TFE_Context* context, const char* device, TF_Status* status);
TFE_TensorDebugInfo* TFE_TensorHandleTensorDebugInfo(const TFE_TensorHandle* h, TF_Status* status);
void TFE_DeleteTensorDebugInfo(TFE_TensorDebugInfo* info);
int TFE_TensorDebugInfoOnDeviceNumDims(const TFE_TensorDebugInfo* info);
int64_t TFE_TensorDebugInfoOnDeviceDim(const TFE_TensorDebugInfo* info, int index);
TFE_Op* TFE_NewOp(const TFE_Context* context, const char* name, TF_Status* status);
// Makes the op a new one, without attrs and inputs.
void TFE_OpReset(TFE_Op* op, const char* name, const char* device, TF_Status* status);
void TFE_DeleteOp(TFE_Op* op);
const char* TFE_OpGetName(const TFE_Op* op, TF_Status* status);
TFE_Context* TFE_OpGetContext(const TFE_Op* op, TF_Status* status);
void TFE_OpSetDevice(TFE_Op* op, const char* device, TF_Status* status);
const char* TFE_OpGetDevice(const TFE_Op* op, TF_Status* status);
void TFE_OpAddInput(TFE_Op* op, const TFE_TensorHandle* input, TF_Status* status);
void TFE_OpAddInputList(TFE_Op* op, TFE_TensorHandle** inputs, int count, TF_Status* status);
int TFE_OpGetFlatInputCount(const TFE_Op* op, TF_Status* status);
// A new handle of that input.
TFE_TensorHandle* TFE_OpGetFlatInput(const TFE_Op* op, int index, TF_Status* status);
TF_AttrType TFE_OpGetAttrType(const TFE_Op* op, const char* name, unsigned char* is_list, TF_Status* status);
TF_AttrType TFE_OpNameGetAttrType(const TFE_Context* context, const char* op, const char* name, unsigned char* is_list, TF_Status* status);
int TFE_OpGetInputLength(const TFE_Op* op, const char* name, TF_Status* status);
int TFE_OpGetOutputLength(const TFE_Op* op, const char* name, TF_Status* status);
// Runs it. There must be place for all its results; how many there were is set.
void TFE_Execute(const TFE_Op* op, TFE_TensorHandle** results, int* num_results, TF_Status* status);

#ifdef __cplusplus
}
#endif

#endif
