// Checkpoints. Other experimental functions that bindings use are declared with the others.
#ifndef THALWEG_C_C_API_EXPERIMENTAL_H_
#define THALWEG_C_C_API_EXPERIMENTAL_H_

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/eager/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_CheckpointReader TF_CheckpointReader;

TF_CheckpointReader* TF_NewCheckpointReader(const char* prefix, TF_Status* status);
void TF_DeleteCheckpointReader(TF_CheckpointReader* reader);
int TF_CheckpointReaderHasTensor(const TF_CheckpointReader* reader, const char* name);
// The name of a variable, by its number; null if there are fewer.
const char* TF_CheckpointReaderGetVariable(const TF_CheckpointReader* reader, int index);
int TF_CheckpointReaderSize(const TF_CheckpointReader* reader);
// 0 if there is no such variable.
int TF_CheckpointReaderGetVariableDataType(const TF_CheckpointReader* reader, const char* name);
void TF_CheckpointReaderGetVariableShape(const TF_CheckpointReader* reader, const char* name, int64_t* dims, int num_dims, TF_Status* status);
int TF_CheckpointReaderGetVariableNumDims(const TF_CheckpointReader* reader, const char* name);
TF_Tensor* TF_CheckpointReaderGetTensor(const TF_CheckpointReader* reader, const char* name, TF_Status* status);

#ifdef __cplusplus
}
#endif

#endif
