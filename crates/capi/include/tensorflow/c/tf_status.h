// Statuses: a canonical code and a message.
#ifndef THALWEG_C_TF_STATUS_H_
#define THALWEG_C_TF_STATUS_H_

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_Status TF_Status;

typedef enum TF_Code {
  TF_OK = 0,
  TF_CANCELLED = 1,
  TF_UNKNOWN = 2,
  TF_INVALID_ARGUMENT = 3,
  TF_DEADLINE_EXCEEDED = 4,
  TF_NOT_FOUND = 5,
  TF_ALREADY_EXISTS = 6,
  TF_PERMISSION_DENIED = 7,
  TF_RESOURCE_EXHAUSTED = 8,
  TF_FAILED_PRECONDITION = 9,
  TF_ABORTED = 10,
  TF_OUT_OF_RANGE = 11,
  TF_UNIMPLEMENTED = 12,
  TF_INTERNAL = 13,
  TF_UNAVAILABLE = 14,
  TF_DATA_LOSS = 15,
  TF_UNAUTHENTICATED = 16
} TF_Code;

TF_Status* TF_NewStatus(void);
void TF_DeleteStatus(TF_Status* status);
void TF_SetStatus(TF_Status* status, TF_Code code, const char* message);
void TF_SetPayload(TF_Status* status, const char* key, const char* value);
void TF_ForEachPayload(const TF_Status* status, void (*visit)(const char*, const char*, void*), void* capture);
void TF_SetStatusFromIOError(TF_Status* status, int errno, const char* context);
TF_Code TF_GetCode(const TF_Status* status);
const char* TF_Message(const TF_Status* status);
void TF_MakeInternalErrorStatus(TF_Status* status, const char* message);

#ifdef __cplusplus
}
#endif

#endif
