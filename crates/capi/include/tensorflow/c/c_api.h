// TensorFlow's C API, as libthalweg has it.
//
// Handles are made and deleted in pairs: TF_NewX, TF_DeleteX. Operations belong to their graph, and live as long as it or a session on it.
// A status that is passed is set by every call, to TF_OK too. Tensors that are returned belong to the caller; those that are fed stay the caller's.
// Buffers that are filled must be empty before. Strings that are returned live as long as what they are asked of.
#ifndef THALWEG_C_C_API_H_
#define THALWEG_C_C_API_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/tf_attrtype.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_datatype.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow/c/tf_tensor.h"
#include "tensorflow/c/tf_tstring.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_SessionOptions TF_SessionOptions;
typedef struct TF_Graph TF_Graph;
typedef struct TF_OperationDescription TF_OperationDescription;
typedef struct TF_Operation TF_Operation;
typedef struct TF_Function TF_Function;
typedef struct TF_FunctionOptions TF_FunctionOptions;
typedef struct TF_ImportGraphDefOptions TF_ImportGraphDefOptions;
typedef struct TF_ImportGraphDefResults TF_ImportGraphDefResults;
typedef struct TF_Session TF_Session;
typedef struct TF_DeprecatedSession TF_DeprecatedSession;
typedef struct TF_DeviceList TF_DeviceList;
typedef struct TF_Library TF_Library;
typedef struct TF_ApiDefMap TF_ApiDefMap;
typedef struct TF_Server TF_Server;

typedef struct TF_StringView {
  const char* data;
  size_t len;
} TF_StringView;

// An input of an operation.
typedef struct TF_Input {
  TF_Operation* oper;
  int index;
} TF_Input;

// An output of an operation.
typedef struct TF_Output {
  TF_Operation* oper;
  int index;
} TF_Output;

// Of an attr: -1 for what does not apply.
typedef struct TF_AttrMetadata {
  unsigned char is_list;
  int64_t list_size;
  TF_AttrType type;
  int64_t total_size;
} TF_AttrMetadata;

// A while loop under construction. The caller builds on both graphs, and sets cond_output, the body_outputs and the name.
typedef struct TF_WhileParams {
  const int ninputs;
  TF_Graph* const cond_graph;
  const TF_Output* const cond_inputs;
  TF_Output cond_output;
  TF_Graph* const body_graph;
  const TF_Output* const body_inputs;
  TF_Output* const body_outputs;
  const char* name;
} TF_WhileParams;

// Connects an input of an operation to another output.
void TF_UpdateEdge(const TF_Graph* graph, TF_Output from, TF_Input to, TF_Status* status);
void TF_AddOperationControlInput(const TF_Graph* graph, const TF_Operation* operation, const TF_Operation* before);
void TF_RemoveAllControlInputs(const TF_Graph* graph, const TF_Operation* operation);
void TF_SetRequestedDevice(const TF_Graph* graph, const TF_Operation* operation, const char* device);
// The value must be one that the operation's signature allows, or the name start with an underscore.
void TF_SetAttr(const TF_Graph* graph, const TF_Operation* operation, const char* name, const TF_Buffer* value, TF_Status* status);
void TF_ClearAttr(const TF_Graph* graph, const TF_Operation* operation, const char* name, TF_Status* status);
// Every op has a rule for its shapes.
void TF_SetRequireShapeInferenceFns(const TF_Graph*, bool);
TF_DeprecatedSession* TF_NewDeprecatedSession(const TF_SessionOptions* options, TF_Status* status);
void TF_CloseDeprecatedSession(const TF_DeprecatedSession* session, TF_Status* status);
void TF_DeleteDeprecatedSession(TF_DeprecatedSession* session, TF_Status* status);
// Clears containers of the server that the options name.
void TF_Reset(const TF_SessionOptions* options, const char* const* containers, int count, TF_Status* status);
void TF_ExtendGraph(const TF_DeprecatedSession* session, const void* proto, size_t length, TF_Status* status);
void TF_Run(const TF_DeprecatedSession* session, const TF_Buffer* options, const char* const* input_names, TF_Tensor* const* input_values, int num_inputs, const char* const* output_names, TF_Tensor** output_values, int num_outputs, const char* const* target_names, int num_targets, TF_Buffer* metadata, TF_Status* status);
void TF_PRunSetup(const TF_DeprecatedSession* session, const char* const* input_names, int num_inputs, const char* const* output_names, int num_outputs, const char* const* target_names, int num_targets, const char** handle, TF_Status* status);
void TF_PRun(const TF_DeprecatedSession* session, const char* handle, const char* const* input_names, TF_Tensor* const* input_values, int num_inputs, const char* const* output_names, TF_Tensor** output_values, int num_outputs, const char* const* target_names, int num_targets, TF_Status* status);
TF_DeviceList* TF_DeprecatedSessionListDevices(const TF_DeprecatedSession* session, TF_Status* status);
TF_OperationDescription* TF_NewOperation(const TF_Graph* graph, const char* op, const char* name);
// The graph has a lock of its own; this is the same as `TF_NewOperation`.
TF_OperationDescription* TF_NewOperationLocked(const TF_Graph* graph, const char* op, const char* name);
TF_Operation* TF_FinishOperation(TF_OperationDescription* description, TF_Status* status);
TF_Operation* TF_FinishOperationLocked(TF_OperationDescription* description, TF_Status* status);
void TF_SetDevice(TF_OperationDescription* description, const char* device);
void TF_AddInput(TF_OperationDescription* description, TF_Output input);
void TF_AddInputList(TF_OperationDescription* description, const TF_Output* inputs, int count);
void TF_AddControlInput(TF_OperationDescription* description, const TF_Operation* before);
void TF_ColocateWith(TF_OperationDescription* description, const TF_Operation* other);
void TF_SetAttrString(TF_OperationDescription* description, const char* name, const void* value, size_t length);
void TF_SetAttrStringList(TF_OperationDescription* description, const char* name, const void* const* values, const size_t* lengths, int count);
void TF_SetAttrInt(TF_OperationDescription* description, const char* name, int64_t value);
void TF_SetAttrIntList(TF_OperationDescription* description, const char* name, const int64_t* values, int count);
void TF_SetAttrFloat(TF_OperationDescription* description, const char* name, float value);
void TF_SetAttrFloatList(TF_OperationDescription* description, const char* name, const float* values, int count);
void TF_SetAttrBool(TF_OperationDescription* description, const char* name, unsigned char value);
void TF_SetAttrBoolList(TF_OperationDescription* description, const char* name, const unsigned char* values, int count);
void TF_SetAttrType(TF_OperationDescription* description, const char* name, TF_DataType value);
void TF_SetAttrTypeList(TF_OperationDescription* description, const char* name, const TF_DataType* values, int count);
void TF_SetAttrPlaceholder(TF_OperationDescription* description, const char* name, const char* placeholder);
void TF_SetAttrFuncName(TF_OperationDescription* description, const char* name, const void* value, size_t length);
void TF_SetAttrShape(TF_OperationDescription* description, const char* name, const int64_t* dims, int num_dims);
void TF_SetAttrShapeList(TF_OperationDescription* description, const char* name, const int64_t* const* dims, const int* num_dims, int count);
void TF_SetAttrTensorShapeProto(TF_OperationDescription* description, const char* name, const void* proto, size_t length, TF_Status* status);
void TF_SetAttrTensorShapeProtoList(TF_OperationDescription* description, const char* name, const void* const* protos, const size_t* lengths, int count, TF_Status* status);
void TF_SetAttrTensor(TF_OperationDescription* description, const char* name, const TF_Tensor* value, TF_Status* status);
void TF_SetAttrTensorList(TF_OperationDescription* description, const char* name, TF_Tensor* const* values, int count, TF_Status* status);
void TF_SetAttrValueProto(TF_OperationDescription* description, const char* name, const void* proto, size_t length, TF_Status* status);
void TF_DeleteDeviceList(TF_DeviceList* list);
int TF_DeviceListCount(const TF_DeviceList* list);
const char* TF_DeviceListName(const TF_DeviceList* list, int index, TF_Status* status);
const char* TF_DeviceListType(const TF_DeviceList* list, int index, TF_Status* status);
int64_t TF_DeviceListMemoryBytes(const TF_DeviceList* list, int index, TF_Status* status);
uint64_t TF_DeviceListIncarnation(const TF_DeviceList* list, int index, TF_Status* status);
TF_Function* TF_GraphToFunction(const TF_Graph* graph, const char* name, unsigned char append_hash, int num_operations, const TF_Operation* const* operations, int num_inputs, const TF_Output* inputs, int num_outputs, const TF_Output* outputs, const char* const* output_names, const TF_FunctionOptions* options, const char* description, TF_Status* status);
TF_Function* TF_GraphToFunctionWithControlOutputs(const TF_Graph* graph, const char* name, unsigned char append_hash, int num_operations, const TF_Operation* const* operations, int num_inputs, const TF_Output* inputs, int num_outputs, const TF_Output* outputs, const char* const* output_names, int num_control, const TF_Operation* const* control, const char* const* control_names, const TF_FunctionOptions* options, const char* description, TF_Status* status);
const char* TF_FunctionName(const TF_Function* function);
void TF_FunctionToFunctionDef(const TF_Function* function, TF_Buffer* into, TF_Status* status);
TF_Function* TF_FunctionImportFunctionDef(const void* proto, size_t length, TF_Status* status);
void TF_FunctionSetAttrValueProto(const TF_Function* function, const char* name, const void* proto, size_t length, TF_Status* status);
void TF_FunctionGetAttrValueProto(const TF_Function* function, const char* name, TF_Buffer* into, TF_Status* status);
char* TF_FunctionDebugString(const TF_Function* function, size_t* length);
void TF_DeleteFunction(TF_Function* function);
// Adds a function, and the one that computes its gradient, if there is one.
void TF_GraphCopyFunction(const TF_Graph* graph, const TF_Function* function, const TF_Function* gradient, TF_Status* status);
int TF_GraphNumFunctions(const TF_Graph* graph);
int TF_GraphGetFunctions(const TF_Graph* graph, TF_Function** functions, int places, TF_Status* status);
void TF_GraphRemoveFunction(const TF_Graph* graph, const char* name, TF_Status* status);
TF_AttrMetadata TF_OperationGetAttrMetadata(const TF_Operation* operation, const char* name, TF_Status* status);
void TF_OperationGetAttrString(const TF_Operation* operation, const char* name, void* value, size_t max_length, TF_Status* status);
void TF_OperationGetAttrStringList(const TF_Operation* operation, const char* name, void** values, size_t* lengths, int max_values, void* storage, size_t storage_size, TF_Status* status);
void TF_OperationGetAttrInt(const TF_Operation* operation, const char* name, int64_t* value, TF_Status* status);
void TF_OperationGetAttrIntList(const TF_Operation* operation, const char* name, int64_t* values, int places, TF_Status* status);
void TF_OperationGetAttrFloat(const TF_Operation* operation, const char* name, float* value, TF_Status* status);
void TF_OperationGetAttrFloatList(const TF_Operation* operation, const char* name, float* values, int places, TF_Status* status);
void TF_OperationGetAttrBool(const TF_Operation* operation, const char* name, unsigned char* value, TF_Status* status);
void TF_OperationGetAttrBoolList(const TF_Operation* operation, const char* name, unsigned char* values, int places, TF_Status* status);
void TF_OperationGetAttrType(const TF_Operation* operation, const char* name, TF_DataType* value, TF_Status* status);
void TF_OperationGetAttrTypeList(const TF_Operation* operation, const char* name, TF_DataType* values, int places, TF_Status* status);
void TF_OperationGetAttrShape(const TF_Operation* operation, const char* name, int64_t* dims, int places, TF_Status* status);
void TF_OperationGetAttrShapeList(const TF_Operation* operation, const char* name, int64_t** dims, int* num_dims, int places, int64_t* storage, int storage_size, TF_Status* status);
void TF_OperationGetAttrTensorShapeProto(const TF_Operation* operation, const char* name, TF_Buffer* value, TF_Status* status);
void TF_OperationGetAttrTensorShapeProtoList(const TF_Operation* operation, const char* name, TF_Buffer** values, int places, TF_Status* status);
void TF_OperationGetAttrTensor(const TF_Operation* operation, const char* name, TF_Tensor** value, TF_Status* status);
void TF_OperationGetAttrTensorList(const TF_Operation* operation, const char* name, TF_Tensor** values, int places, TF_Status* status);
void TF_OperationGetAttrValueProto(const TF_Operation* operation, const char* name, TF_Buffer* value, TF_Status* status);
// `dx` are the initial gradients of the `ys`, ones if it is null. Where it is stopped between, a gradient is null.
void TF_AddGradientsWithPrefix(const TF_Graph* graph, const char* prefix, const TF_Output* ys, int num_ys, const TF_Output* xs, int num_xs, const TF_Output* dx, TF_Status* status, TF_Output* dy);
void TF_AddGradients(const TF_Graph* graph, const TF_Output* ys, int num_ys, const TF_Output* xs, int num_xs, const TF_Output* dx, TF_Status* status, TF_Output* dy);
TF_Graph* TF_NewGraph(void);
void TF_DeleteGraph(TF_Graph* graph);
TF_Operation* TF_GraphOperationByName(const TF_Graph* graph, const char* name);
TF_Operation* TF_GraphNextOperation(const TF_Graph* graph, size_t* at);
void TF_GraphToGraphDef(const TF_Graph* graph, TF_Buffer* into, TF_Status* status);
void TF_GraphGetOpDef(const TF_Graph* graph, const char* name, TF_Buffer* into, TF_Status* status);
void TF_GraphVersions(const TF_Graph* graph, TF_Buffer* into, TF_Status* status);
void TF_OperationToNodeDef(const TF_Operation* operation, TF_Buffer* into, TF_Status* status);
char* TF_GraphDebugString(const TF_Graph* graph, size_t* length);
// The value of an output that follows from constants alone.
uint8_t TF_TryEvaluateConstant(const TF_Graph* graph, TF_Output output, TF_Tensor** result, TF_Status* status);
TF_ImportGraphDefOptions* TF_NewImportGraphDefOptions(void);
void TF_DeleteImportGraphDefOptions(TF_ImportGraphDefOptions* options);
void TF_ImportGraphDefOptionsSetPrefix(TF_ImportGraphDefOptions* options, const char* prefix);
void TF_ImportGraphDefOptionsSetDefaultDevice(TF_ImportGraphDefOptions* options, const char* device);
void TF_ImportGraphDefOptionsSetUniquifyNames(TF_ImportGraphDefOptions* options, unsigned char unique);
void TF_ImportGraphDefOptionsSetUniquifyPrefix(TF_ImportGraphDefOptions* options, unsigned char unique);
// Colocation is always checked where nodes are placed.
void TF_ImportGraphDefOptionsSetValidateColocationConstraints(TF_ImportGraphDefOptions*, unsigned char);
void TF_ImportGraphDefOptionsAddInputMapping(TF_ImportGraphDefOptions* options, const char* name, int index, TF_Output to);
void TF_ImportGraphDefOptionsRemapControlDependency(TF_ImportGraphDefOptions* options, const char* name, TF_Operation* to);
void TF_ImportGraphDefOptionsAddControlDependency(TF_ImportGraphDefOptions* options, TF_Operation* before);
void TF_ImportGraphDefOptionsAddReturnOutput(TF_ImportGraphDefOptions* options, const char* name, int index);
int TF_ImportGraphDefOptionsNumReturnOutputs(const TF_ImportGraphDefOptions* options);
void TF_ImportGraphDefOptionsAddReturnOperation(TF_ImportGraphDefOptions* options, const char* name);
int TF_ImportGraphDefOptionsNumReturnOperations(const TF_ImportGraphDefOptions* options);
TF_ImportGraphDefResults* TF_GraphImportGraphDefWithResults(const TF_Graph* graph, const TF_Buffer* def, const TF_ImportGraphDefOptions* options, TF_Status* status);
void TF_GraphImportGraphDefWithReturnOutputs(const TF_Graph* graph, const TF_Buffer* def, const TF_ImportGraphDefOptions* options, TF_Output* outputs, int places, TF_Status* status);
void TF_GraphImportGraphDef(const TF_Graph* graph, const TF_Buffer* def, const TF_ImportGraphDefOptions* options, TF_Status* status);
void TF_ImportGraphDefResultsReturnOutputs(const TF_ImportGraphDefResults* results, int* count, TF_Output** outputs);
void TF_ImportGraphDefResultsReturnOperations(const TF_ImportGraphDefResults* results, int* count, TF_Operation*** operations);
void TF_ImportGraphDefResultsMissingUnusedInputMappings(const TF_ImportGraphDefResults* results, int* count, const char*** names, int** indices);
void TF_DeleteImportGraphDefResults(TF_ImportGraphDefResults* results);
const char* TF_Version(void);
TF_Buffer* TF_GetAllOpList(void);
TF_Library* TF_LoadLibrary(const char* name, TF_Status* status);
TF_Library* TF_LoadPluggableDeviceLibrary(const char* name, TF_Status* status);
void TF_RegisterFilesystemPlugin(const char* name, TF_Status* status);
TF_Buffer TF_GetOpList(TF_Library*);
void TF_DeleteLibraryHandle(TF_Library*);
void TF_DeletePluggableDeviceLibraryHandle(TF_Library*);
TF_ApiDefMap* TF_NewApiDefMap(const TF_Buffer* ops, TF_Status* status);
void TF_DeleteApiDefMap(TF_ApiDefMap* defs);
void TF_ApiDefMapPut(TF_ApiDefMap*, const void*, size_t, TF_Status* status);
TF_Buffer* TF_ApiDefMapGet(const TF_ApiDefMap* defs, const char* name, size_t length, TF_Status* status);
TF_Buffer* TF_GetAllRegisteredKernels(TF_Status* status);
TF_Buffer* TF_GetRegisteredKernelsForOp(const char* name, TF_Status* status);
// 1 if the op has state or effects, 0 if not, -1 if there is no such op.
int TF_OpIsStateful(const char* name, TF_Status* status);
// Errors are in statuses, and nothing is logged: the listener hears nothing.
void TF_RegisterLogListener(void (*)(const char*));
// Nothing is parsed and nothing has to be initialised.
void TF_InitMain(const char*, int*, char*** argv);
const char* TF_OperationName(const TF_Operation* operation);
const char* TF_OperationOpType(const TF_Operation* operation);
const char* TF_OperationDevice(const TF_Operation* operation);
int TF_OperationNumOutputs(const TF_Operation* operation);
int TF_OperationNumInputs(const TF_Operation* operation);
// 0 if there is no such output.
TF_DataType TF_OperationOutputType(TF_Output output);
// 0 if there is no such input.
TF_DataType TF_OperationInputType(TF_Input input);
int TF_OperationOutputListLength(const TF_Operation* operation, const char* name, TF_Status* status);
int TF_OperationInputListLength(const TF_Operation* operation, const char* name, TF_Status* status);
// Null and -1 if there is no such input.
TF_Output TF_OperationInput(TF_Input input);
void TF_OperationAllInputs(const TF_Operation* operation, TF_Output* inputs, int places);
int TF_OperationOutputNumConsumers(TF_Output output);
int TF_OperationOutputConsumers(TF_Output output, TF_Input* found, int places);
int TF_OperationNumControlInputs(const TF_Operation* operation);
int TF_OperationGetControlInputs(const TF_Operation* operation, TF_Operation** found, int places);
int TF_OperationNumControlOutputs(const TF_Operation* operation);
int TF_OperationGetControlOutputs(const TF_Operation* operation, TF_Operation** found, int places);
int TF_OperationGetNumAttrs(const TF_Operation* operation);
int TF_OperationGetAttrNameLength(const TF_Operation* operation, int index);
// Without a zero at its end.
void TF_OperationGetAttrName(const TF_Operation* operation, int index, char* into, TF_Status* status);
TF_SessionOptions* TF_NewSessionOptions(void);
void TF_DeleteSessionOptions(TF_SessionOptions* options);
void TF_SetTarget(TF_SessionOptions* options, const char* target);
void TF_SetConfig(TF_SessionOptions* options, const void* proto, size_t length, TF_Status* status);
// XLA is not there: sessions run as without it.
void TF_EnableXLACompilation(TF_SessionOptions*, unsigned char);
TF_Buffer* TF_CreateConfig(unsigned char xla, unsigned char grow, unsigned int cpus);
TF_Buffer* TF_CreateRunOptions(unsigned char trace);
void TF_SessionPRunSetup(const TF_Session* session, const TF_Output* inputs, int num_inputs, const TF_Output* outputs, int num_outputs, const TF_Operation* const* targets, int num_targets, const char** handle, TF_Status* status);
void TF_SessionPRun(const TF_Session* session, const char* handle, const TF_Output* inputs, TF_Tensor* const* input_values, int num_inputs, const TF_Output* outputs, TF_Tensor** output_values, int num_outputs, const TF_Operation* const* targets, int num_targets, TF_Status* status);
void TF_DeletePRunHandle(const char* handle);
TF_Server* TF_NewServer(const void* proto, size_t length, TF_Status* status);
void TF_ServerStart(const TF_Server* server, TF_Status* status);
void TF_ServerStop(const TF_Server* server, TF_Status* status);
// Waits until the server has been stopped.
void TF_ServerJoin(const TF_Server* server, TF_Status* status);
const char* TF_ServerTarget(const TF_Server* server);
void TF_DeleteServer(TF_Server* server);
// A port that nobody listened on a moment ago; 0 if there is none.
int TF_PickUnusedPortOrDie(void);
TF_Session* TF_NewSession(const TF_Graph* graph, const TF_SessionOptions* options, TF_Status* status);
void TF_CloseSession(const TF_Session* session, TF_Status* status);
void TF_DeleteSession(TF_Session* session, TF_Status* status);
void TF_SessionRun(const TF_Session* session, const TF_Buffer* options, const TF_Output* inputs, TF_Tensor* const* input_values, int num_inputs, const TF_Output* outputs, TF_Tensor** output_values, int num_outputs, const TF_Operation* const* targets, int num_targets, TF_Buffer* metadata, TF_Status* status);
void TF_ExtendSession(const TF_Session* session, TF_Status* status);
TF_DeviceList* TF_SessionListDevices(const TF_Session* session, TF_Status* status);
TF_Session* TF_LoadSessionFromSavedModel(const TF_SessionOptions* options, const TF_Buffer* run_options, const char* directory, const char* const* tags, int num_tags, const TF_Graph* graph, TF_Buffer* meta_graph, TF_Status* status);
// Refines what is known of a shape.
void TF_GraphSetTensorShape(const TF_Graph* graph, TF_Output output, const int64_t* dims, int num_dims, TF_Status* status);
// -1 if it is unknown.
int TF_GraphGetTensorNumDims(const TF_Graph* graph, TF_Output output, TF_Status* status);
// -1 for sizes that are unknown.
void TF_GraphGetTensorShape(const TF_Graph* graph, TF_Output output, int64_t* dims, int num_dims, TF_Status* status);
TF_WhileParams TF_NewWhile(const TF_Graph* graph, const TF_Output* inputs, int num_inputs, TF_Status* status);
// The parameters end with this, whether or not it succeeds.
void TF_FinishWhile(const TF_WhileParams* params, TF_Status* status, TF_Output* outputs);
void TF_AbortWhile(const TF_WhileParams* params);

#ifdef __cplusplus
}
#endif

#endif
