/** The HTTP API as data: endpoints, schemas, errors, limits, events and signatures. */
export * from './api.ts'
export * from './endpoints/decode.ts'
export * from './endpoints/endpoint.ts'
export * from './endpoints/openapi.ts'
export * from './endpoints/paging.ts'
export * from './endpoints/role-scopes.ts'
export * from './endpoints/roles.ts'
export * from './errors.ts'
export * from './fields/client-network.ts'
export * from './fields/email-address.ts'
export * from './fields/fields.ts'
export * from './fields/json-text.ts'
export * from './fields/large-file.ts'
export * from './fields/retry-after.ts'
export * from './fields/units.ts'
export * from './limits.ts'
export type {
  CallbackReading,
  CallbackRequest,
  LookupJob,
  LookupResult,
  Outcome,
  Provider,
  SendJob,
  Traits,
} from './outside/provider.ts'
export * from './signing/signature.ts'
export * from './twilio/message-status.ts'
export * from './twilio/notation.ts'
