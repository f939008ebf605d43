/** The typed client of svc, and the receiver of its webhooks. It has no dependencies. */
export type {
  BulkChunk,
  BulkRunBody,
  BulkRunOptions,
  BulksMethods,
  Recipient,
} from './bulk-run.ts'
export {
  AuthenticationError,
  ConflictError,
  ConnectionError,
  type ErrorCode,
  type ErrorDetail,
  type ErrorFacts,
  ForbiddenError,
  InsufficientCreditsError,
  NotFoundError,
  RateLimitError,
  ServerError,
  SvcError,
  TimeoutError,
  UnexpectedAnswerError,
  ValidationError,
} from './errors.ts'
export { EVENT_KINDS } from './generated/endpoints.ts'
export type * from './generated/types.ts'
export type {
  HeaderSource,
  UncheckedDelivery,
  VerificationFailure,
  VerificationResult,
} from './generated/verdict.ts'
export type { SvcOptions } from './options.ts'
export type {
  Fetch,
  FetchedAnswer,
  Global,
  PlatformAbortSignal,
  PlatformRequest,
  PlatformResponse,
} from './platform.ts'
export { Svc } from './svc.ts'
export type { Call, CallOptions, List, WithResponse } from './transport/call.ts'
export type { MessagesMethods, WaitOptions } from './wait-for.ts'
export type {
  FastifyInstanceLike,
  FastifyReplyLike,
  FastifyRequestLike,
  HonoContextLike,
  NodeResponseLike,
  WebhookAdapters,
} from './webhooks/adapters.ts'
export type { NodeRequestLike } from './webhooks/body.ts'
export { type Claim, createMemoryStore, type DedupeStore } from './webhooks/dedupe.ts'
export type {
  DeliveryContext,
  UnknownEvent,
  WebhookEvent,
} from './webhooks/event.ts'
export {
  type ChooseSecret,
  type ClaimedDelivery,
  type EventFunctions,
  type WebhookHandlerOptions,
  webhookHandler,
} from './webhooks/handler.ts'
export {
  type UnwrappedEvent,
  unwrapWebhook,
  WebhookVerificationError,
} from './webhooks/unwrap.ts'
export type { Secrets } from './webhooks/verify.ts'
export { type Verification, verifyWebhook } from './webhooks/verify.ts'
