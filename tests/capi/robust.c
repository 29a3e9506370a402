// What TensorFlow's library aborts on, or leaves undefined, is a status or a null here: nulls, wrong numbers, huge sizes, deleted things,
// threads. A crash is the failure; `expect` counts the rest.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/c_api_experimental.h"
#include "tensorflow/c/eager/c_api_experimental.h"

static TF_Status* s;
static int failures;

static void expect(int is_true, const char* what, int line) {
  if (is_true) return;
  failures++;
  printf("line %d: %s (code %d: %s)\n", line, what, TF_GetCode(s), TF_Message(s));
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)
#define FAILS(call) ((void)(call), expect(TF_GetCode(s) != TF_OK, #call " fails", __LINE__))
#define WORKS(call) ((void)(call), expect(TF_GetCode(s) == TF_OK, #call " works", __LINE__))

static TF_Operation* placeholder(TF_Graph* g, const char* name, TF_DataType type) {
  TF_OperationDescription* d = TF_NewOperation(g, "Placeholder", name);
  TF_SetAttrType(d, "dtype", type);
  return TF_FinishOperation(d, s);
}

static TF_Tensor* scalar(float value) {
  TF_Tensor* t = TF_AllocateTensor(TF_FLOAT, NULL, 0, sizeof value);
  *(float*)TF_TensorData(t) = value;
  return t;
}

static TF_Output out(TF_Operation* o, int i) {
  TF_Output made = {o, i};
  return made;
}

static void nulls(void) {
  TF_Output none = {NULL, 0};
  TF_Input no_input = {NULL, 0};
  int64_t dims[2];
  int number;
  size_t at = 0;
  TF_DeleteStatus(NULL);
  TF_DeleteBuffer(NULL);
  TF_DeleteTensor(NULL);
  TF_DeleteGraph(NULL);
  TF_DeleteSessionOptions(NULL);
  TF_DeleteFunction(NULL);
  TF_DeleteImportGraphDefOptions(NULL);
  TF_DeleteImportGraphDefResults(NULL);
  TF_DeleteDeviceList(NULL);
  TF_DeleteServer(NULL);
  TF_DeletePRunHandle(NULL);
  TFE_DeleteContext(NULL);
  TFE_DeleteOp(NULL);
  TFE_DeleteTensorHandle(NULL);
  TF_AbortWhile(NULL);
  EXPECT(TF_GetCode(NULL) == TF_INVALID_ARGUMENT && TF_Message(NULL) != NULL);
  EXPECT(TF_TensorData(NULL) == NULL && TF_NumDims(NULL) == -1 && TF_Dim(NULL, 0) == -1);
  EXPECT(TF_NewOperation(NULL, "NoOp", "a") == NULL);
  FAILS(TF_FinishOperation(NULL, s));
  TF_SetAttrInt(NULL, "a", 1);
  TF_AddInput(NULL, none);
  EXPECT(TF_GraphOperationByName(NULL, "a") == NULL && TF_GraphNextOperation(NULL, &at) == NULL);
  EXPECT(TF_OperationName(NULL)[0] == 0 && TF_OperationNumInputs(NULL) == 0 && TF_OperationOutputType(none) == 0);
  EXPECT(TF_OperationInput(no_input).oper == NULL && TF_OperationOutputNumConsumers(none) == 0);
  FAILS(TF_GraphGetTensorNumDims(NULL, none, s));
  FAILS(TF_GraphGetTensorShape(NULL, none, dims, 2, s));
  FAILS(TF_GraphToGraphDef(NULL, NULL, s));
  FAILS(TF_GraphImportGraphDef(NULL, NULL, NULL, s));
  FAILS(TF_NewSession(NULL, NULL, s));
  FAILS(TF_SessionRun(NULL, NULL, NULL, NULL, 0, NULL, NULL, 0, NULL, 0, NULL, s));
  FAILS(TF_SessionPRun(NULL, NULL, NULL, NULL, 0, NULL, NULL, 0, NULL, 0, s));
  FAILS(TF_CloseSession(NULL, s));
  FAILS(TF_LoadSessionFromSavedModel(NULL, NULL, NULL, NULL, 0, NULL, NULL, s));
  FAILS(TF_AddGradients(NULL, NULL, 0, NULL, 0, NULL, s, NULL));
  FAILS(TF_NewWhile(NULL, NULL, 1, s));
  FAILS(TF_GraphToFunction(NULL, NULL, 0, -1, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL, s));
  FAILS(TF_GraphCopyFunction(NULL, NULL, NULL, s));
  FAILS(TF_LoadLibrary(NULL, s));
  FAILS(TF_LoadLibrary("nothing.so", s));
  FAILS(TF_NewServer(NULL, 3, s));
  FAILS(TFE_NewOp(NULL, "Add", s));
  FAILS(TFE_Execute(NULL, NULL, &number, s));
  FAILS(TFE_NewTensorHandle(NULL, s));
  FAILS(TFE_TensorHandleResolve(NULL, s));
  EXPECT(TFE_TensorHandleDataType(NULL) == 0);
  // Without a status.
  TF_CloseSession(NULL, NULL);
  TF_FinishOperation(NULL, NULL);
  EXPECT(TF_DeviceListCount(NULL) == 0);
}

static void sizes(void) {
  int64_t huge[] = {INT64_MAX, INT64_MAX}, negative[] = {-1}, large[] = {1 << 20, 1 << 20, 1 << 20};
  EXPECT(TF_AllocateTensor(TF_FLOAT, huge, 2, 4) == NULL);
  EXPECT(TF_AllocateTensor(TF_FLOAT, huge, 2, SIZE_MAX) == NULL);
  EXPECT(TF_AllocateTensor(TF_FLOAT, negative, 1, 4) == NULL);
  EXPECT(TF_AllocateTensor(TF_FLOAT, large, -1, 4) == NULL);
  EXPECT(TF_AllocateTensor(TF_FLOAT, NULL, 2, 4) == NULL);
  EXPECT(TF_NewTensor(TF_FLOAT, large, 3, NULL, 0, NULL, NULL) == NULL);
  TF_Tensor* odd = TF_AllocateTensor((TF_DataType)77, NULL, 0, 4);
  EXPECT(odd != NULL && TF_DataTypeSize((TF_DataType)77) == 0);
  EXPECT(TF_NewTensor(TF_STRING, NULL, 0, NULL, 0, NULL, NULL) == NULL);
  TF_Graph* g = TF_NewGraph();
  TF_OperationDescription* d = TF_NewOperation(g, "Const", "odd");
  FAILS(TF_SetAttrTensor(d, "value", odd, s));
  FAILS(TF_FinishOperation(d, s));
  d = TF_NewOperation(g, "Placeholder", "p");
  TF_SetAttrType(d, "dtype", (TF_DataType)-5);
  FAILS(TF_FinishOperation(d, s));
  d = TF_NewOperation(g, "Placeholder", "p");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrShape(d, "shape", huge, 2);
  FAILS(TF_FinishOperation(d, s));
  d = TF_NewOperation(g, "Placeholder", "p");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrIntList(d, "shape", huge, -7);
  FAILS(TF_FinishOperation(d, s));
  // A shape of more bytes than there are.
  TF_Tensor* shape = TF_AllocateTensor(TF_INT32, (int64_t[]){3}, 1, 12);
  for (int i = 0; i < 3; i++) ((int32_t*)TF_TensorData(shape))[i] = INT32_MAX;
  d = TF_NewOperation(g, "Const", "shape");
  TF_SetAttrTensor(d, "value", shape, s);
  TF_SetAttrType(d, "dtype", TF_INT32);
  TF_Operation* c = TF_FinishOperation(d, s);
  TF_Tensor* value = scalar(1);
  d = TF_NewOperation(g, "Const", "value");
  TF_SetAttrTensor(d, "value", value, s);
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_Operation* one = TF_FinishOperation(d, s);
  d = TF_NewOperation(g, "Fill", "fill");
  TF_AddInput(d, out(c, 0));
  TF_AddInput(d, out(one, 0));
  TF_Operation* fill = TF_FinishOperation(d, s);
  if (fill != NULL) {
    TF_Session* session = TF_NewSession(g, NULL, s);
    TF_Output fetch = out(fill, 0);
    TF_Tensor* result = NULL;
    FAILS(TF_SessionRun(session, NULL, NULL, NULL, 0, &fetch, &result, 1, NULL, 0, NULL, s));
    EXPECT(result == NULL);
    TF_DeleteSession(session, s);
  }
  TF_DeleteTensor(odd);
  TF_DeleteTensor(shape);
  TF_DeleteTensor(value);
  TF_DeleteGraph(g);
}

static void strangers(void) {
  TF_Graph *g = TF_NewGraph(), *h = TF_NewGraph();
  TF_Operation *x = placeholder(g, "x", TF_FLOAT), *y = placeholder(h, "y", TF_FLOAT);
  TF_OperationDescription* d = TF_NewOperation(g, "Neg", "n");
  TF_AddInput(d, out(y, 0));
  FAILS(TF_FinishOperation(d, s));
  d = TF_NewOperation(g, "NoOp", "n");
  TF_AddControlInput(d, y);
  FAILS(TF_FinishOperation(d, s));
  d = TF_NewOperation(g, NULL, NULL);
  FAILS(TF_FinishOperation(d, s));
  d = TF_NewOperation(g, "NoOp", "bad name");
  FAILS(TF_FinishOperation(d, s));
  d = TF_NewOperation(g, "NoOp", "\xff\xfe");
  FAILS(TF_FinishOperation(d, s));
  FAILS(TF_GraphGetTensorNumDims(g, out(x, 1), s));
  FAILS(TF_GraphGetTensorNumDims(g, out(x, -1), s));
  FAILS(TF_GraphGetTensorNumDims(g, out(y, 0), s));
  EXPECT(TF_OperationOutputType(out(x, 7)) == 0);
  TF_Session* session = TF_NewSession(g, NULL, s);
  TF_Output fetch = out(y, 0), feed = out(x, 0);
  TF_Tensor *value = scalar(1), *result = NULL;
  FAILS(TF_SessionRun(session, NULL, NULL, NULL, 0, &fetch, &result, 1, NULL, 0, NULL, s));
  fetch = feed;
  FAILS(TF_SessionRun(session, NULL, &feed, NULL, 1, &fetch, &result, 1, NULL, 0, NULL, s));
  FAILS(TF_SessionRun(session, NULL, &feed, &value, -1, &fetch, &result, 1, NULL, 0, NULL, s));
  FAILS(TF_SessionRun(session, NULL, &feed, &value, 1, &fetch, NULL, 1, NULL, 0, NULL, s));
  TF_Tensor* missing[] = {NULL};
  FAILS(TF_SessionRun(session, NULL, &feed, missing, 1, &fetch, &result, 1, NULL, 0, NULL, s));
  const TF_Operation* targets[] = {NULL};
  FAILS(TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, targets, 1, NULL, s));
  TF_Output twice[] = {feed, feed};
  TF_Tensor* values[] = {value, value};
  FAILS(TF_SessionRun(session, NULL, twice, values, 2, &fetch, &result, 1, NULL, 0, NULL, s));
  TF_Buffer* full = TF_NewBufferFromString("x", 1);
  FAILS(TF_SessionRun(session, NULL, &feed, &value, 1, &fetch, &result, 1, NULL, 0, full, s));
  FAILS(TF_SessionRun(session, full, &feed, &value, 1, &fetch, &result, 1, NULL, 0, NULL, s));
  TF_DeleteBuffer(full);
  WORKS(TF_SessionRun(session, NULL, &feed, &value, 1, &fetch, &result, 1, NULL, 0, NULL, s));
  TF_DeleteTensor(result);
  // An edge of another type, which TensorFlow accepts until the session does not: nothing is changed.
  TF_Operation* n = placeholder(g, "integer", TF_INT32);
  d = TF_NewOperation(g, "Neg", "neg");
  TF_AddInput(d, feed);
  TF_Operation* neg = TF_FinishOperation(d, s);
  FAILS(TF_UpdateEdge(g, out(n, 0), (TF_Input){neg, 0}, s));
  EXPECT(TF_OperationInput((TF_Input){neg, 0}).oper == x);
  // The session keeps the graph: its operations stay valid.
  TF_DeleteGraph(g);
  WORKS(TF_SessionRun(session, NULL, &feed, &value, 1, &fetch, &result, 1, NULL, 0, NULL, s));
  TF_DeleteTensor(result);
  EXPECT(strcmp(TF_OperationName(x), "x") == 0);
  TF_DeleteSession(session, s);
  TF_DeleteTensor(value);
  TF_DeleteGraph(h);
}

// A GraphDef cut at every byte, and with every byte changed, imports or fails.
static void garbage(void) {
  TF_Graph* g = TF_NewGraph();
  TF_Operation* x = placeholder(g, "x", TF_FLOAT);
  TF_OperationDescription* d = TF_NewOperation(g, "Neg", "n");
  TF_AddInput(d, out(x, 0));
  TF_FinishOperation(d, s);
  TF_Buffer* def = TF_NewBuffer();
  WORKS(TF_GraphToGraphDef(g, def, s));
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  unsigned char* bytes = malloc(def->length);
  for (size_t i = 0; i < 2 * def->length; i++) {
    memcpy(bytes, def->data, def->length);
    size_t length = def->length;
    if (i < def->length) length = i;
    else bytes[i - def->length] ^= (unsigned char)(1 + i % 255);
    TF_Buffer* part = TF_NewBufferFromString(bytes, length);
    TF_Graph* h = TF_NewGraph();
    TF_GraphImportGraphDef(h, part, options, s);
    size_t at = 0;
    TF_GraphNextOperation(h, &at);
    TF_DeleteGraph(h);
    TF_DeleteBuffer(part);
  }
  free(bytes);
  TF_DeleteImportGraphDefOptions(options);
  TF_DeleteBuffer(def);
  TF_DeleteGraph(g);
}

struct shared {
  TF_Session* session;
  TF_Output feed, fetch;
  int cancelled;
};

// Runs until the session is closed.
static void* runs(void* arg) {
  struct shared* shared = arg;
  TF_Status* own = TF_NewStatus();
  TF_Tensor* value = scalar(2);
  for (;;) {
    TF_Tensor* result = NULL;
    TF_SessionRun(shared->session, NULL, &shared->feed, &value, 1, &shared->fetch, &result, 1, NULL, 0, NULL, own);
    if (result != NULL) TF_DeleteTensor(result);
    if (TF_GetCode(own) != TF_OK) break;
  }
  int cancelled = TF_GetCode(own) == TF_CANCELLED;
  TF_DeleteTensor(value);
  TF_DeleteStatus(own);
  return cancelled ? shared : NULL;
}

// Adds nodes to the graph meanwhile.
static void* builds(void* arg) {
  TF_Graph* g = arg;
  TF_Status* own = TF_NewStatus();
  for (int i = 0; i < 200; i++) {
    char name[32];
    snprintf(name, sizeof name, "node%p_%d", (void*)&own, i);
    for (char* c = name; *c; c++) if (*c == '(' || *c == ')') *c = '_';
    TF_OperationDescription* d = TF_NewOperation(g, "Placeholder", name);
    TF_SetAttrType(d, "dtype", TF_FLOAT);
    TF_FinishOperation(d, own);
  }
  TF_DeleteStatus(own);
  return NULL;
}

static void threads(void) {
  TF_Graph* g = TF_NewGraph();
  TF_Operation* x = placeholder(g, "x", TF_FLOAT);
  TF_OperationDescription* d = TF_NewOperation(g, "Exp", "e");
  TF_AddInput(d, out(x, 0));
  TF_Operation* e = TF_FinishOperation(d, s);
  struct shared shared = {TF_NewSession(g, NULL, s), out(x, 0), out(e, 0), 0};
  // One that waits for ever.
  d = TF_NewOperation(g, "FIFOQueueV2", "queue");
  TF_DataType type = TF_FLOAT;
  TF_SetAttrTypeList(d, "component_types", &type, 1);
  TF_Operation* queue = TF_FinishOperation(d, s);
  d = TF_NewOperation(g, "QueueDequeueV2", "dequeue");
  TF_AddInput(d, out(queue, 0));
  TF_SetAttrTypeList(d, "component_types", &type, 1);
  TF_Operation* dequeue = TF_FinishOperation(d, s);
  EXPECT(dequeue != NULL);
  struct shared waiting = {shared.session, out(x, 0), out(dequeue, 0), 0};
  pthread_t runners[5], builders[2];
  for (int i = 0; i < 4; i++) pthread_create(&runners[i], NULL, runs, &shared);
  pthread_create(&runners[4], NULL, runs, &waiting);
  for (int i = 0; i < 2; i++) pthread_create(&builders[i], NULL, builds, g);
  for (int i = 0; i < 2; i++) pthread_join(builders[i], NULL);
  WORKS(TF_CloseSession(shared.session, s));
  for (int i = 0; i < 5; i++) {
    void* cancelled = NULL;
    pthread_join(runners[i], &cancelled);
    EXPECT(cancelled != NULL);
  }
  TF_DeleteSession(shared.session, s);
  TF_DeleteGraph(g);
}

static void eager(void) {
  TFE_Context* c = TFE_NewContext(NULL, s);
  TF_Tensor* one = scalar(1);
  TFE_TensorHandle* h = TFE_NewTensorHandle(one, s);
  TFE_TensorHandle* results[1];
  int count = 1;
  FAILS(TFE_NewOp(c, NULL, s));
  FAILS(TFE_TensorHandleDim(h, 3, s));
  TFE_Op* op = TFE_NewOp(c, "Add", s);
  FAILS(TFE_Execute(op, results, &count, s));
  FAILS(TFE_OpAddInput(op, NULL, s));
  WORKS(TFE_OpAddInput(op, h, s));
  FAILS(TFE_Execute(op, results, &count, s));
  WORKS(TFE_OpAddInput(op, h, s));
  WORKS(TFE_OpAddInput(op, h, s));
  FAILS(TFE_Execute(op, results, &count, s));
  FAILS(TFE_OpSetDevice(op, "nonsense", s));
  TFE_DeleteOp(op);
  // Parts of graphs, and ops on references, have no meaning by themselves.
  const char* parts[] = {"Placeholder", "Switch", "Enter", "_Arg", "Variable"};
  for (int i = 0; i < 5; i++) {
    op = TFE_NewOp(c, parts[i], s);
    if (op == NULL) continue;
    TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
    TFE_OpSetAttrShape(op, "shape", NULL, 0, s);
    count = 1;
    FAILS(TFE_Execute(op, results, &count, s));
    TFE_DeleteOp(op);
  }
  op = TFE_NewOp(c, "MatMul", s);
  TFE_OpAddInput(op, h, s);
  TFE_OpAddInput(op, h, s);
  TFE_OpSetAttrInt(op, "transpose_a", 3);
  count = 1;
  FAILS(TFE_Execute(op, results, &count, s));
  TFE_DeleteOp(op);
  TFE_DeleteTensorHandle(h);
  TF_DeleteTensor(one);
  TFE_DeleteContext(c);
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  s = TF_NewStatus();
  nulls();
  sizes();
  strangers();
  garbage();
  threads();
  eager();
  TF_DeleteStatus(s);
  printf("%d failures\n", failures);
  return failures != 0;
}
