// A program over TensorFlow's C API. It prints what it sees, and prints the same with TensorFlow's library and with ours (test_program.py).
// Messages are words of the library, so only codes are printed.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/eager/c_api.h"

static TF_Status* s;

// The code of the last call.
static void code(const char* what) {
  printf("%s: %d\n", what, TF_GetCode(s));
  if (TF_GetCode(s) != TF_OK && getenv("CAPI_VERBOSE")) fprintf(stderr, "  %s: %s\n", what, TF_Message(s));
  // TensorFlow does not always clear a status.
  TF_SetStatus(s, TF_OK, "");
}

static int freed;
static void count_free(void* data, size_t length, void* arg) {
  (void)length;
  free(data);
  *(int*)arg += 1;
}

static TF_Tensor* floats(const int64_t* dims, int num_dims, const float* values) {
  size_t n = 1;
  for (int i = 0; i < num_dims; i++) n *= (size_t)dims[i];
  TF_Tensor* t = TF_AllocateTensor(TF_FLOAT, dims, num_dims, n * sizeof(float));
  memcpy(TF_TensorData(t), values, n * sizeof(float));
  return t;
}

static TF_Tensor* scalar(float value) { return floats(NULL, 0, &value); }

static TF_Tensor* int_scalar(int32_t value) {
  TF_Tensor* t = TF_AllocateTensor(TF_INT32, NULL, 0, sizeof value);
  memcpy(TF_TensorData(t), &value, sizeof value);
  return t;
}

static TF_Operation* placeholder(TF_Graph* g, const char* name, TF_DataType type, int rank, const int64_t* dims) {
  TF_OperationDescription* d = TF_NewOperation(g, "Placeholder", name);
  TF_SetAttrType(d, "dtype", type);
  if (rank >= 0) TF_SetAttrShape(d, "shape", dims, rank);
  return TF_FinishOperation(d, s);
}

static TF_Operation* constant(TF_Graph* g, const char* name, TF_Tensor* value) {
  TF_OperationDescription* d = TF_NewOperation(g, "Const", name);
  TF_SetAttrTensor(d, "value", value, s);
  TF_SetAttrType(d, "dtype", TF_TensorType(value));
  TF_Operation* made = TF_FinishOperation(d, s);
  TF_DeleteTensor(value);
  return made;
}

static TF_Operation* binary(TF_Graph* g, const char* op, const char* name, TF_Output a, TF_Output b) {
  TF_OperationDescription* d = TF_NewOperation(g, op, name);
  TF_AddInput(d, a);
  TF_AddInput(d, b);
  return TF_FinishOperation(d, s);
}

static TF_Operation* unary(TF_Graph* g, const char* op, const char* name, TF_Output a) {
  TF_OperationDescription* d = TF_NewOperation(g, op, name);
  TF_AddInput(d, a);
  return TF_FinishOperation(d, s);
}

static TF_Output out(TF_Operation* o, int i) {
  TF_Output made = {o, i};
  return made;
}

static void print_tensor(const char* what, TF_Tensor* t) {
  if (t == NULL) {
    printf("%s: none\n", what);
    return;
  }
  printf("%s: type %d shape [", what, TF_TensorType(t));
  for (int i = 0; i < TF_NumDims(t); i++) printf(" %lld", (long long)TF_Dim(t, i));
  printf(" ] bytes %zu:", TF_TensorByteSize(t));
  int64_t n = TF_TensorElementCount(t);
  for (int64_t i = 0; i < n; i++) {
    if (TF_TensorType(t) == TF_FLOAT) printf(" %g", ((float*)TF_TensorData(t))[i]);
    if (TF_TensorType(t) == TF_INT32) printf(" %d", ((int32_t*)TF_TensorData(t))[i]);
    if (TF_TensorType(t) == TF_INT64) printf(" %lld", (long long)((int64_t*)TF_TensorData(t))[i]);
    if (TF_TensorType(t) == TF_BOOL) printf(" %d", ((unsigned char*)TF_TensorData(t))[i]);
    if (TF_TensorType(t) == TF_STRING) {
      TF_TString* string = &((TF_TString*)TF_TensorData(t))[i];
      printf(" '%.*s'", (int)TF_StringGetSize(string), TF_StringGetDataPointer(string));
    }
  }
  printf("\n");
}

// Runs a step with at most two feeds and one fetch.
static void run(const char* what, TF_Session* session, int n, const TF_Output* feeds, TF_Tensor* const* values, TF_Output fetch) {
  TF_Tensor* result = NULL;
  TF_SessionRun(session, NULL, feeds, values, n, &fetch, &result, 1, NULL, 0, NULL, s);
  code(what);
  if (result != NULL) print_tensor(what, result);
  if (result != NULL) TF_DeleteTensor(result);
}

static void statuses(void) {
  TF_SetStatus(s, TF_DATA_LOSS, "broken");
  printf("status %d %s\n", TF_GetCode(s), TF_Message(s));
  TF_SetStatus(s, TF_OK, "");
  printf("status %d [%s]\n", TF_GetCode(s), TF_Message(s));
  for (int t = 1; t <= 23; t++) printf(" %zu", TF_DataTypeSize((TF_DataType)t));
  printf("\nversion %.2s\n", TF_Version());
}

static void buffers(void) {
  TF_Buffer* b = TF_NewBufferFromString("abc", 3);
  TF_Buffer view = TF_GetBuffer(b);
  printf("buffer %zu %.3s\n", view.length, (const char*)view.data);
  TF_DeleteBuffer(b);
  b = TF_NewBuffer();
  printf("empty %zu %d\n", b->length, b->data == NULL);
  TF_DeleteBuffer(b);
}

static void strings(void) {
  TF_TString t;
  TF_StringInit(&t);
  printf("string %zu %d %zu\n", TF_StringGetSize(&t), TF_StringGetType(&t), TF_StringGetCapacity(&t));
  TF_StringCopy(&t, "short", 5);
  printf("string %.*s %d %zu\n", (int)TF_StringGetSize(&t), TF_StringGetDataPointer(&t), TF_StringGetType(&t), TF_StringGetCapacity(&t));
  const char* text = "a text that does not fit into the string itself";
  TF_StringCopy(&t, text, strlen(text));
  printf("string %.*s %d %zu\n", (int)TF_StringGetSize(&t), TF_StringGetDataPointer(&t), TF_StringGetType(&t), TF_StringGetCapacity(&t));
  TF_StringCopy(&t, "22 bytes are the limit", 22);
  printf("string %zu %d\n", TF_StringGetSize(&t), TF_StringGetType(&t));
  TF_StringAssignView(&t, text, 6);
  printf("string %.*s %d %zu\n", (int)TF_StringGetSize(&t), TF_StringGetDataPointer(&t), TF_StringGetType(&t), TF_StringGetCapacity(&t));
  TF_StringDealloc(&t);
  printf("string %zu %d\n", TF_StringGetSize(&t), TF_StringGetType(&t));
}

static void tensors(void) {
  int64_t dims[] = {2, 3};
  float* data = malloc(6 * sizeof(float));
  for (int i = 0; i < 6; i++) data[i] = (float)i / 2;
  TF_Tensor* t = TF_NewTensor(TF_FLOAT, dims, 2, data, 6 * sizeof(float), count_free, &freed);
  print_tensor("mine", t);
  TF_DeleteTensor(t);
  printf("freed %d\n", freed);
  data = malloc(4);
  t = TF_NewTensor(TF_FLOAT, dims, 2, data, 4, count_free, &freed);
  printf("too short %d freed %d\n", t == NULL, freed);
  t = TF_AllocateTensor(TF_INT64, dims, 1, 16);
  printf("aligned %d dim %lld elements %lld\n", TF_TensorIsAligned(t), (long long)TF_Dim(t, 0), (long long)TF_TensorElementCount(t));
  TF_DeleteTensor(t);
  t = TF_AllocateTensor(TF_FLOAT, NULL, 0, 4);
  printf("scalar rank %d elements %lld\n", TF_NumDims(t), (long long)TF_TensorElementCount(t));
  TF_Tensor* view = TF_AllocateTensor(TF_INT32, NULL, 0, 4);
  int64_t one[] = {1};
  *(float*)TF_TensorData(t) = 1.0f;
  TF_TensorBitcastFrom(t, TF_INT32, view, one, 1, s);
  code("bitcast");
  print_tensor("bits", view);
  TF_TensorBitcastFrom(t, TF_INT64, view, one, 1, s);
  code("bitcast too large");
  TF_DeleteTensor(view);
  TF_DeleteTensor(t);
  int64_t none[] = {0, 5};
  t = TF_AllocateTensor(TF_FLOAT, none, 2, 0);
  printf("empty %lld %zu\n", (long long)TF_TensorElementCount(t), TF_TensorByteSize(t));
  TF_DeleteTensor(t);
}

static void attributes(void) {
  TF_Graph* g = TF_NewGraph();
  int64_t dims[] = {-1, 4};
  TF_Operation* x = placeholder(g, "x", TF_FLOAT, 2, dims);
  code("placeholder");
  printf("%s %s [%s] in %d out %d type %d\n", TF_OperationName(x), TF_OperationOpType(x), TF_OperationDevice(x), TF_OperationNumInputs(x),
         TF_OperationNumOutputs(x), TF_OperationOutputType(out(x, 0)));
  printf("dims %d\n", TF_GraphGetTensorNumDims(g, out(x, 0), s));
  int64_t got[2] = {0, 0};
  TF_GraphGetTensorShape(g, out(x, 0), got, 2, s);
  printf("shape %lld %lld\n", (long long)got[0], (long long)got[1]);
  int64_t refined[] = {3, -1};
  TF_GraphSetTensorShape(g, out(x, 0), refined, 2, s);
  code("refine");
  TF_GraphGetTensorShape(g, out(x, 0), got, 2, s);
  printf("shape %lld %lld\n", (long long)got[0], (long long)got[1]);
  int64_t other[] = {5, 4};
  TF_GraphSetTensorShape(g, out(x, 0), other, 2, s);
  code("contradiction");
  TF_GraphGetTensorShape(g, out(x, 0), got, 1, s);
  code("wrong rank");

  TF_AttrMetadata m = TF_OperationGetAttrMetadata(x, "shape", s);
  printf("shape: list %d size %lld type %d total %lld\n", m.is_list, (long long)m.list_size, m.type, (long long)m.total_size);
  m = TF_OperationGetAttrMetadata(x, "dtype", s);
  printf("dtype: list %d size %lld type %d total %lld\n", m.is_list, (long long)m.list_size, m.type, (long long)m.total_size);
  TF_OperationGetAttrMetadata(x, "nothing", s);
  code("no attr");
  TF_DataType type = TF_INT32;
  TF_OperationGetAttrType(x, "dtype", &type, s);
  printf("dtype %d\n", type);
  int64_t number = 7;
  TF_OperationGetAttrInt(x, "dtype", &number, s);
  code("dtype as int");

  int64_t ksize[] = {1, 2, 2, 1};
  int64_t image[] = {1, 4, 4, 1};
  TF_Operation* pixels = placeholder(g, "image", TF_FLOAT, 4, image);
  TF_OperationDescription* d = TF_NewOperation(g, "MaxPool", "pool");
  TF_AddInput(d, out(pixels, 0));
  TF_SetAttrIntList(d, "ksize", ksize, 4);
  TF_SetAttrIntList(d, "strides", ksize, 4);
  TF_SetAttrString(d, "padding", "SAME", 4);
  TF_SetAttrString(d, "_mine", "of my own", 9);
  TF_SetDevice(d, "/device:CPU:0");
  TF_Operation* pool = TF_FinishOperation(d, s);
  code("pool");
  printf("device %s\n", TF_OperationDevice(pool));
  m = TF_OperationGetAttrMetadata(pool, "ksize", s);
  printf("ksize: list %d size %lld type %d total %lld\n", m.is_list, (long long)m.list_size, m.type, (long long)m.total_size);
  int64_t read[4] = {0, 0, 0, 0};
  TF_OperationGetAttrIntList(pool, "ksize", read, 4, s);
  printf("ksize %lld %lld %lld %lld\n", (long long)read[0], (long long)read[1], (long long)read[2], (long long)read[3]);
  char text[16] = {0};
  m = TF_OperationGetAttrMetadata(pool, "padding", s);
  TF_OperationGetAttrString(pool, "padding", text, sizeof text, s);
  printf("padding %lld %s\n", (long long)m.total_size, text);
  memset(text, 0, sizeof text);
  TF_OperationGetAttrString(pool, "_mine", text, sizeof text, s);
  printf("own %s\n", text);
  TF_GraphGetTensorShape(g, out(pool, 0), (int64_t[4]){0}, 4, s);
  code("pool shape");

  printf("inputs %d type %d name %s\n", TF_OperationNumInputs(pool), TF_OperationInputType((TF_Input){pool, 0}),
         TF_OperationName(TF_OperationInput((TF_Input){pool, 0}).oper));
  printf("consumers %d\n", TF_OperationOutputNumConsumers(out(pixels, 0)));
  TF_Input consumer;
  int found = TF_OperationOutputConsumers(out(pixels, 0), &consumer, 1);
  printf("consumer %d %s %d\n", found, TF_OperationName(consumer.oper), consumer.index);

  d = TF_NewOperation(g, "NoOp", "after");
  TF_AddControlInput(d, pool);
  TF_AddControlInput(d, pool);
  TF_Operation* after = TF_FinishOperation(d, s);
  TF_Operation* control;
  printf("control in %d out %d", TF_OperationNumControlInputs(after), TF_OperationNumControlOutputs(pool));
  TF_OperationGetControlInputs(after, &control, 1);
  printf(" %s", TF_OperationName(control));
  TF_OperationGetControlOutputs(pool, &control, 1);
  printf(" %s\n", TF_OperationName(control));

  TF_Output list[] = {out(x, 0), out(x, 0), out(x, 0)};
  d = TF_NewOperation(g, "AddN", "sum");
  TF_AddInputList(d, list, 3);
  TF_Operation* sum = TF_FinishOperation(d, s);
  code("list");
  printf("list in %d", TF_OperationInputListLength(sum, "inputs", s));
  printf(" out %d", TF_OperationOutputListLength(sum, "sum", s));
  printf(" none %d", TF_OperationInputListLength(sum, "nothing", s));
  printf(" %d\n", TF_GetCode(s));
  TF_SetStatus(s, TF_OK, "");

  size_t at = 0;
  for (TF_Operation* o = TF_GraphNextOperation(g, &at); o != NULL; o = TF_GraphNextOperation(g, &at)) printf(" %s", TF_OperationName(o));
  printf("\n");
  printf("by name %d %d\n", TF_GraphOperationByName(g, "pool") == pool, TF_GraphOperationByName(g, "nothing") == NULL);
  TF_DeleteGraph(g);
}

static void mistakes(void) {
  TF_Graph* g = TF_NewGraph();
  TF_FinishOperation(TF_NewOperation(g, "NoSuchOp", "a"), s);
  code("unknown op");
  TF_FinishOperation(TF_NewOperation(g, "Placeholder", "b"), s);
  code("attr missing");
  TF_OperationDescription* d = TF_NewOperation(g, "Placeholder", "c");
  TF_SetAttrInt(d, "dtype", 1);
  TF_FinishOperation(d, s);
  code("attr of another kind");
  TF_Operation* x = placeholder(g, "x", TF_FLOAT, -1, NULL);
  TF_Operation* n = placeholder(g, "n", TF_INT32, -1, NULL);
  placeholder(g, "x", TF_FLOAT, -1, NULL);
  code("duplicate name");
  binary(g, "Add", "add", out(x, 0), out(n, 0));
  code("types differ");
  unary(g, "Add", "add1", out(x, 0));
  code("too few inputs");
  unary(g, "Neg", "neg", out(x, 3));
  code("no such output");
  int64_t a[] = {2, 3}, b[] = {4, 5};
  TF_Operation* m = placeholder(g, "m", TF_FLOAT, 2, a);
  TF_Operation* k = placeholder(g, "k", TF_FLOAT, 2, b);
  binary(g, "MatMul", "product", out(m, 0), out(k, 0));
  code("shapes differ");
  d = TF_NewOperation(g, "Placeholder", "p");
  TF_SetAttrValueProto(d, "dtype", "\xff\xff\xff", 3, s);
  code("garbage attr");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_FinishOperation(d, s);
  code("finished all the same");
  TF_Buffer* garbage = TF_NewBufferFromString("\xff\xff garbage", 10);
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  TF_GraphImportGraphDef(g, garbage, options, s);
  code("garbage GraphDef");
  TF_DeleteImportGraphDefOptions(options);
  TF_DeleteBuffer(garbage);
  TF_Function* f = TF_FunctionImportFunctionDef("\xff\xff", 2, s);
  code("garbage FunctionDef");
  printf("none %d\n", f == NULL);
  TF_DeleteGraph(g);
}

static void imports(void) {
  TF_Graph* g = TF_NewGraph();
  TF_Operation* feed = placeholder(g, "feed", TF_INT32, -1, NULL);
  TF_Operation* scalar3 = constant(g, "three", int_scalar(3));
  unary(g, "Neg", "neg", out(scalar3, 0));
  binary(g, "Add", "add", out(feed, 0), out(scalar3, 0));
  TF_Buffer* def = TF_NewBuffer();
  TF_GraphToGraphDef(g, def, s);
  code("export");
  TF_GraphToGraphDef(g, def, s);
  code("export into a full buffer");
  TF_Graph* h = TF_NewGraph();
  TF_Operation* mine = constant(h, "mine", int_scalar(10));
  TF_ImportGraphDefOptions* o = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsSetPrefix(o, "imported");
  TF_ImportGraphDefOptionsAddInputMapping(o, "feed", 0, out(mine, 0));
  TF_ImportGraphDefOptionsAddInputMapping(o, "unknown", 1, out(mine, 0));
  TF_ImportGraphDefOptionsAddReturnOutput(o, "feed", 0);
  TF_ImportGraphDefOptionsAddReturnOutput(o, "add", 0);
  TF_ImportGraphDefOptionsAddReturnOperation(o, "three");
  TF_ImportGraphDefOptionsAddControlDependency(o, mine);
  printf("returns %d %d\n", TF_ImportGraphDefOptionsNumReturnOutputs(o), TF_ImportGraphDefOptionsNumReturnOperations(o));
  TF_ImportGraphDefResults* results = TF_GraphImportGraphDefWithResults(h, def, o, s);
  code("import");
  int count;
  TF_Output* outputs;
  TF_ImportGraphDefResultsReturnOutputs(results, &count, &outputs);
  for (int i = 0; i < count; i++) printf("output %s:%d\n", TF_OperationName(outputs[i].oper), outputs[i].index);
  TF_Operation** operations;
  TF_ImportGraphDefResultsReturnOperations(results, &count, &operations);
  for (int i = 0; i < count; i++) printf("operation %s control %d\n", TF_OperationName(operations[i]), TF_OperationNumControlInputs(operations[i]));
  const char** names;
  int* indices;
  TF_ImportGraphDefResultsMissingUnusedInputMappings(results, &count, &names, &indices);
  for (int i = 0; i < count; i++) printf("unused %s:%d\n", names[i], indices[i]);
  TF_Output sum = outputs[1];
  TF_SessionOptions* so = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(h, so, s);
  run("imported sum", session, 0, NULL, NULL, sum);
  TF_DeleteImportGraphDefResults(results);
  TF_ImportGraphDefOptionsSetUniquifyPrefix(o, 1);
  TF_GraphImportGraphDef(h, def, o, s);
  code("import with another prefix");
  printf("second %d\n", TF_GraphOperationByName(h, "imported_1/add") != NULL);
  TF_DeleteImportGraphDefOptions(o);
  o = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsAddReturnOperation(o, "nothing");
  results = TF_GraphImportGraphDefWithResults(h, def, o, s);
  code("return what is not there");
  printf("results %d\n", results == NULL);
  TF_DeleteImportGraphDefOptions(o);
  TF_DeleteSession(session, s);
  TF_DeleteSessionOptions(so);
  TF_DeleteBuffer(def);
  TF_DeleteGraph(h);
  TF_DeleteGraph(g);
}

static void sessions(void) {
  TF_Graph* g = TF_NewGraph();
  int64_t dims[] = {-1};
  TF_Operation* x = placeholder(g, "x", TF_FLOAT, 1, dims);
  TF_Operation* two = constant(g, "two", scalar(2));
  TF_Operation* y = binary(g, "Mul", "y", out(x, 0), out(two, 0));
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_SetConfig(options, "\xff\xff\xff", 3, s);
  code("garbage config");
  TF_Session* session = TF_NewSession(g, options, s);
  code("session");
  int64_t three[] = {3};
  TF_Tensor* value = floats(three, 1, (float[]){1, 2, 3});
  TF_Output feed = out(x, 0);
  run("y", session, 1, &feed, &value, out(y, 0));
  run("y again", session, 1, &feed, &value, out(y, 0));
  run("not fed", session, 0, NULL, NULL, out(y, 0));
  TF_Tensor* wrong = int_scalar(1);
  run("fed another type", session, 1, &feed, &wrong, out(y, 0));
  TF_Operation* z = binary(g, "Add", "z", out(y, 0), out(two, 0));
  run("made later", session, 1, &feed, &value, out(z, 0));
  TF_Operation* text = NULL;
  {
    TF_Tensor* t = TF_AllocateTensor(TF_STRING, (int64_t[]){2}, 1, 2 * sizeof(TF_TString));
    TF_TString* items = TF_TensorData(t);
    TF_StringInit(&items[0]);
    TF_StringInit(&items[1]);
    TF_StringCopy(&items[0], "red", 3);
    TF_StringCopy(&items[1], "a colour with a rather long name", 32);
    TF_OperationDescription* d = TF_NewOperation(g, "Const", "text");
    TF_SetAttrTensor(d, "value", t, s);
    TF_SetAttrType(d, "dtype", TF_STRING);
    text = TF_FinishOperation(d, s);
    code("text");
    TF_StringDealloc(&items[0]);
    TF_StringDealloc(&items[1]);
    TF_DeleteTensor(t);
  }
  run("text", session, 0, NULL, NULL, out(text, 0));
  // A variable, by its targets.
  TF_OperationDescription* d = TF_NewOperation(g, "VarHandleOp", "v");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrShape(d, "shape", NULL, 0);
  TF_Operation* v = TF_FinishOperation(d, s);
  TF_Operation* init = binary(g, "AssignVariableOp", "init", out(v, 0), out(two, 0));
  code("assign");
  TF_Operation* more = binary(g, "AssignAddVariableOp", "more", out(v, 0), out(two, 0));
  d = TF_NewOperation(g, "ReadVariableOp", "read");
  TF_AddInput(d, out(v, 0));
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_Operation* read = TF_FinishOperation(d, s);
  run("not initialised", session, 0, NULL, NULL, out(read, 0));
  const TF_Operation* targets[] = {init};
  TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, targets, 1, NULL, s);
  code("initialise");
  targets[0] = more;
  TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, targets, 1, NULL, s);
  code("add");
  run("variable", session, 0, NULL, NULL, out(read, 0));
  TF_Buffer* metadata = TF_NewBuffer();
  TF_Buffer* full_trace = TF_NewBufferFromString("\x08\x03", 2);
  TF_Tensor* result = NULL;
  TF_Output fetch = out(y, 0);
  TF_SessionRun(session, full_trace, &feed, &value, 1, &fetch, &result, 1, NULL, 0, metadata, s);
  code("traced");
  printf("metadata %d\n", metadata->length > 0);
  TF_DeleteTensor(result);
  TF_DeleteBuffer(full_trace);
  TF_DeleteBuffer(metadata);
  TF_DeviceList* devices = TF_SessionListDevices(session, s);
  code("devices");
  printf("%d %s %s %lld\n", TF_DeviceListCount(devices), TF_DeviceListName(devices, 0, s), TF_DeviceListType(devices, 0, s),
         (long long)TF_DeviceListMemoryBytes(devices, 0, s));
  TF_DeviceListName(devices, 9, s);
  code("no device");
  TF_DeleteDeviceList(devices);
  TF_CloseSession(session, s);
  code("close");
  run("closed", session, 1, &feed, &value, out(y, 0));
  TF_CloseSession(session, s);
  code("close again");
  TF_DeleteSession(session, s);
  code("delete");
  TF_SetTarget(options, "nonsense://");
  session = TF_NewSession(g, options, s);
  code("target");
  printf("none %d\n", session == NULL);
  TF_DeleteSessionOptions(options);
  TF_DeleteTensor(wrong);
  TF_DeleteTensor(value);
  TF_DeleteGraph(g);
}

static void partial_runs(void) {
  TF_Graph* g = TF_NewGraph();
  TF_Operation* a = placeholder(g, "a", TF_INT32, -1, NULL);
  TF_Operation* b = placeholder(g, "b", TF_INT32, -1, NULL);
  TF_Operation* two = constant(g, "two", int_scalar(2));
  TF_Operation* plus2 = binary(g, "Add", "plus2", out(a, 0), out(two, 0));
  TF_Operation* plusB = binary(g, "Add", "plusB", out(plus2, 0), out(b, 0));
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(g, options, s);
  TF_Output feeds[] = {out(a, 0), out(b, 0)}, fetches[] = {out(plus2, 0), out(plusB, 0)};
  const char* handle = NULL;
  TF_SessionPRunSetup(session, feeds, 2, fetches, 2, NULL, 0, &handle, s);
  code("setup");
  TF_Tensor* values[] = {int_scalar(1), int_scalar(4)};
  TF_Tensor* result = NULL;
  TF_SessionPRun(session, handle, feeds, values, 1, fetches, &result, 1, NULL, 0, s);
  code("first");
  print_tensor("first", result);
  TF_DeleteTensor(result);
  TF_SessionPRun(session, handle, feeds, values, 1, fetches, &result, 1, NULL, 0, s);
  code("fed twice");
  TF_SessionPRun(session, handle, feeds + 1, values + 1, 1, fetches + 1, &result, 1, NULL, 0, s);
  code("second");
  print_tensor("second", result);
  TF_DeleteTensor(result);
  TF_SessionPRun(session, "nonsense", feeds, values, 1, fetches, &result, 1, NULL, 0, s);
  code("no such run");
  TF_DeletePRunHandle(handle);
  TF_DeleteTensor(values[0]);
  TF_DeleteTensor(values[1]);
  TF_DeleteSession(session, s);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(g);
}

static void gradients(void) {
  TF_Graph* g = TF_NewGraph();
  TF_Operation* x = placeholder(g, "x", TF_FLOAT, -1, NULL);
  TF_Operation* w = placeholder(g, "w", TF_FLOAT, -1, NULL);
  TF_Operation* other = placeholder(g, "other", TF_FLOAT, -1, NULL);
  TF_Operation* product = binary(g, "Mul", "product", out(x, 0), out(w, 0));
  TF_Operation* y = unary(g, "Tanh", "y", out(product, 0));
  TF_Output ys[] = {out(y, 0)}, xs[] = {out(x, 0), out(w, 0)}, dxs[2];
  TF_AddGradients(g, ys, 1, xs, 2, NULL, s, dxs);
  code("gradients");
  TF_Output more[1];
  TF_AddGradientsWithPrefix(g, "again", ys, 1, xs, 1, NULL, s, more);
  code("with a prefix");
  printf("prefix %d\n", strncmp(TF_OperationName(more[0].oper), "again/", 6) == 0);
  TF_AddGradientsWithPrefix(g, "again", ys, 1, xs, 1, NULL, s, more);
  code("with a prefix in use");
  TF_Output unrelated[] = {out(other, 0)};
  TF_AddGradients(g, ys, 1, unrelated, 1, NULL, s, more);
  code("of what it does not depend on");
  printf("none %d\n", more[0].oper == NULL);
  TF_Output seed[] = {out(other, 0)};
  TF_AddGradients(g, ys, 1, xs, 1, seed, s, more);
  code("with initial gradients");
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(g, options, s);
  TF_Output feeds[] = {out(x, 0), out(w, 0)};
  TF_Tensor* values[] = {scalar(0.5f), scalar(2)};
  run("dx", session, 2, feeds, values, dxs[0]);
  run("dw", session, 2, feeds, values, dxs[1]);
  TF_DeleteTensor(values[0]);
  TF_DeleteTensor(values[1]);
  TF_DeleteSession(session, s);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(g);
}

static void loops(void) {
  TF_Graph* g = TF_NewGraph();
  TF_Operation* i = placeholder(g, "i", TF_INT32, 0, NULL);
  TF_Operation* p = placeholder(g, "p", TF_INT32, 0, NULL);
  TF_Output inputs[] = {out(i, 0), out(p, 0)}, outputs[2];
  TF_WhileParams unset = TF_NewWhile(g, inputs, 2, s);
  code("while");
  TF_FinishWhile(&unset, s, outputs);
  code("not set");
  TF_WhileParams params = TF_NewWhile(g, inputs, 2, s);
  TF_Operation* ten = constant(params.cond_graph, "ten", int_scalar(10));
  params.cond_output = out(binary(params.cond_graph, "Less", "less", params.cond_inputs[0], out(ten, 0)), 0);
  TF_Operation* three = constant(params.body_graph, "three", int_scalar(3));
  params.body_outputs[0] = out(binary(params.body_graph, "Add", "next", params.body_inputs[0], out(three, 0)), 0);
  params.body_outputs[1] = out(binary(params.body_graph, "Mul", "double", params.body_inputs[1], params.body_inputs[0]), 0);
  params.name = "my_loop";
  TF_FinishWhile(&params, s, outputs);
  code("loop");
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(g, options, s);
  TF_Tensor* values[] = {int_scalar(1), int_scalar(1)};
  run("last i", session, 2, inputs, values, outputs[0]);
  run("last p", session, 2, inputs, values, outputs[1]);
  TF_WhileParams given_up = TF_NewWhile(g, inputs, 2, s);
  TF_AbortWhile(&given_up);
  TF_NewWhile(g, inputs, 0, s);
  code("no variables");
  TF_DeleteTensor(values[0]);
  TF_DeleteTensor(values[1]);
  TF_DeleteSession(session, s);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(g);
}

static void functions(void) {
  TF_Graph* body = TF_NewGraph();
  TF_Operation* a = placeholder(body, "A/First", TF_FLOAT, -1, NULL);
  TF_Operation* b = placeholder(body, "b", TF_FLOAT, -1, NULL);
  TF_Operation* sum = binary(body, "Add", "sum", out(a, 0), out(b, 0));
  TF_Operation* neg = unary(body, "Neg", "neg", out(sum, 0));
  TF_Output inputs[] = {out(a, 0), out(b, 0)}, outputs[] = {out(sum, 0), out(neg, 0)};
  TF_Function* f = TF_GraphToFunction(body, "sum_and_neg", 0, -1, NULL, 2, inputs, 2, outputs, NULL, NULL, "adds", s);
  code("function");
  printf("%s\n", TF_FunctionName(f));
  const char* names[] = {"first", "second"};
  const TF_Operation* only[] = {sum};
  TF_Function* part = TF_GraphToFunction(body, "part", 0, 1, only, 2, inputs, 1, outputs, names, NULL, NULL, s);
  code("part");
  TF_Function* lacks = TF_GraphToFunction(body, "lacks", 0, 1, only, 1, inputs, 1, outputs, NULL, NULL, NULL, s);
  code("an input is missing");
  printf("none %d\n", lacks == NULL);
  TF_Function* hashed = TF_GraphToFunction(body, "hashed", 1, -1, NULL, 2, inputs, 1, outputs, NULL, NULL, NULL, s);
  printf("hash %d\n", strncmp(TF_FunctionName(hashed), "hashed_", 7) == 0);
  TF_Buffer* def = TF_NewBuffer();
  TF_FunctionToFunctionDef(f, def, s);
  code("to def");
  TF_Function* again = TF_FunctionImportFunctionDef(def->data, def->length, s);
  code("from def");
  printf("%s\n", TF_FunctionName(again));
  TF_Graph* g = TF_NewGraph();
  TF_GraphCopyFunction(g, again, NULL, s);
  code("copy");
  TF_GraphCopyFunction(g, again, NULL, s);
  code("copy again");
  TF_GraphCopyFunction(g, NULL, NULL, s);
  code("copy nothing");
  printf("functions %d\n", TF_GraphNumFunctions(g));
  TF_Operation* x = placeholder(g, "x", TF_FLOAT, -1, NULL);
  TF_Operation* call = binary(g, "sum_and_neg", "call", out(x, 0), out(x, 0));
  code("call");
  printf("%s outputs %d\n", TF_OperationOpType(call), TF_OperationNumOutputs(call));
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(g, options, s);
  TF_Output feed = out(x, 0);
  TF_Tensor* value = scalar(1.5f);
  run("call 0", session, 1, &feed, &value, out(call, 0));
  run("call 1", session, 1, &feed, &value, out(call, 1));
  TF_FunctionGetAttrValueProto(f, "nothing", def, s);
  code("no attr of a function");
  TF_DeleteTensor(value);
  TF_DeleteSession(session, s);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(g);
  TF_DeleteFunction(again);
  TF_DeleteFunction(hashed);
  TF_DeleteFunction(part);
  TF_DeleteFunction(f);
  TF_DeleteBuffer(def);
  TF_DeleteGraph(body);
}

static TFE_TensorHandle* handle_of(TF_Tensor* t) {
  TFE_TensorHandle* h = TFE_NewTensorHandle(t, s);
  TF_DeleteTensor(t);
  return h;
}

static void eager(void) {
  TFE_ContextOptions* options = TFE_NewContextOptions();
  TFE_Context* c = TFE_NewContext(options, s);
  code("context");
  TFE_DeleteContextOptions(options);
  int64_t two[] = {2, 2};
  TFE_TensorHandle* m = handle_of(floats(two, 2, (float[]){1, 2, 3, 4}));
  printf("type %d rank %d dim %lld elements %lld\n", TFE_TensorHandleDataType(m), TFE_TensorHandleNumDims(m, s),
         (long long)TFE_TensorHandleDim(m, 1, s), (long long)TFE_TensorHandleNumElements(m, s));
  printf("%s\n", TFE_TensorHandleDeviceName(m, s));
  TFE_Op* op = TFE_NewOp(c, "MatMul", s);
  TFE_OpAddInput(op, m, s);
  TFE_OpAddInput(op, m, s);
  TFE_OpSetAttrBool(op, "transpose_b", 1);
  TFE_OpSetAttrType(op, "T", TFE_TensorHandleDataType(m));
  TFE_TensorHandle* results[4];
  int count = 4;
  TFE_Execute(op, results, &count, s);
  code("execute");
  TF_Tensor* value = TFE_TensorHandleResolve(results[0], s);
  printf("results %d\n", count);
  print_tensor("product", value);
  TF_DeleteTensor(value);
  TFE_DeleteTensorHandle(results[0]);
  TFE_DeleteOp(op);
  unsigned char is_list = 9;
  op = TFE_NewOp(c, "Split", s);
  printf("attr %d", TFE_OpGetAttrType(op, "num_split", &is_list, s));
  printf(" list %d\n", is_list);
  TFE_TensorHandle* axis = handle_of(int_scalar(1));
  TFE_OpAddInput(op, axis, s);
  TFE_OpAddInput(op, m, s);
  TFE_OpSetAttrInt(op, "num_split", 2);
  count = 1;
  TFE_Execute(op, results, &count, s);
  code("too few places");
  count = 4;
  TFE_Execute(op, results, &count, s);
  code("split");
  for (int i = 0; i < count; i++) {
    value = TFE_TensorHandleResolve(results[i], s);
    print_tensor("part", value);
    TF_DeleteTensor(value);
    TFE_DeleteTensorHandle(results[i]);
  }
  TFE_DeleteOp(op);
  op = TFE_NewOp(c, "AddV2", s);
  TFE_OpAddInput(op, m, s);
  TFE_OpAddInput(op, axis, s);
  count = 1;
  TFE_Execute(op, results, &count, s);
  code("types differ");
  TFE_DeleteOp(op);
  op = TFE_NewOp(c, "NoSuchOp", s);
  code("no op");
  TFE_DeleteTensorHandle(axis);
  TFE_DeleteTensorHandle(m);
  TFE_DeleteContext(c);
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  s = TF_NewStatus();
  statuses();
  buffers();
  strings();
  tensors();
  attributes();
  mistakes();
  imports();
  sessions();
  partial_runs();
  gradients();
  loops();
  functions();
  eager();
  TF_DeleteStatus(s);
  printf("done\n");
  return 0;
}
