package secretstest

import (
	"encoding/json"
	"io"
	"net/http"
	"time"

	"outboxrelay/internal/eventbridgetest/awsjson"
)

// request is GetSecretValue's input.
type request struct {
	SecretID     string `json:"SecretId"`
	VersionID    string `json:"VersionId"`
	VersionStage string
}

// value is GetSecretValue's output.
type value struct {
	ARN           string
	Name          string
	VersionID     string  `json:"VersionId"`
	SecretString  *string `json:",omitempty"`
	SecretBinary  []byte  `json:",omitempty"`
	VersionStages []string
	CreatedDate   float64 // seconds since 1970
}

func (s *Server) getSecretValue(r *http.Request) ([]byte, *awsjson.Error) {
	asked, err := readRequest(r)
	if err != nil {
		return nil, refuse("SerializationException", err.Error())
	}

	fault := s.meet(asked)
	if fault.hang {
		s.Hang(r.Context())
		awsjson.Abort()
	}
	if !s.Pause(r.Context(), fault.latency) {
		awsjson.Abort()
	}
	if fault.err != nil {
		return nil, fault.err
	}
	if err := s.refuseSignature(r); err != nil {
		return nil, err
	}
	return s.lookUp(asked)
}

func readRequest(r *http.Request) (request, error) {
	var asked request

	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &asked)
	}
	return asked, err
}

func (s *Server) lookUp(asked request) ([]byte, *awsjson.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	kept := s.find(asked.SecretID)
	if kept == nil {
		return nil, refuse("ResourceNotFoundException", "Secrets Manager can't find the specified secret.")
	}

	stage := asked.VersionStage
	if stage == "" && asked.VersionID == "" {
		stage = Current
	}

	v := kept.find(asked.VersionID, stage)
	if v == nil {
		return nil, refuse("ResourceNotFoundException",
			"Secrets Manager can't find the specified secret value for staging label: "+stage)
	}
	return encode(kept, v)
}

func encode(kept *secret, v *version) ([]byte, *awsjson.Error) {
	body, err := json.Marshal(value{
		ARN: kept.arn, Name: kept.name(), VersionID: v.id, SecretString: v.text, SecretBinary: v.binary,
		VersionStages: v.stages, CreatedDate: float64(v.created.UnixMilli()) / float64(time.Second/time.Millisecond),
	})
	if err != nil {
		return nil, &awsjson.Error{
			Status: http.StatusInternalServerError, Code: "InternalServiceError", Message: err.Error(),
		}
	}
	return body, nil
}

func (s *Server) find(id string) *secret {
	for _, kept := range s.secrets {
		if kept.is(id) {
			return kept
		}
	}
	return nil
}

func refuse(code, message string) *awsjson.Error {
	return &awsjson.Error{Status: http.StatusBadRequest, Code: code, Message: message}
}
