/**
 * Test a webhook receiver with signed deliveries, and a webhook sender with a scripted receiver.
 */
export {
  type Claim,
  createMemoryStore,
  type DedupeStore,
  type DeliveryContext,
  type UnknownEvent,
  type WebhookAdapters,
  type WebhookEvent,
  type WebhookHandlerOptions,
} from '@svc/client'
export { EVENT_KINDS, type EventKind, type WireEventData } from '@svc/core/contract'
export {
  type HeaderSource,
  SIGNATURE_HEADERS,
  type UncheckedDelivery,
  type Verification,
  type VerificationFailure,
  type VerificationResult,
  verify,
} from '@svc/core/webhooks'
export { type Clock, type FakeClock, fakeClock, impatientClock, patientClock } from './clock.ts'
export {
  type CheckResult,
  type ConformanceOptions,
  type ConformanceReport,
  conformance,
  junitOf,
} from './conformance.ts'
export type { Check } from './conformance-cases.ts'
export type { Finding, Probe, Seen } from './conformance-probe.ts'
export { type FixtureOptions, fixture, type Overrides, type TestEvent } from './fixture.ts'
export { webhookHandler } from './handler.ts'
export { forge, MUTATIONS, type Mutation, type MutationDefinition } from './mutations.ts'
export type { ReceivedDelivery, ReceivedRequest } from './received.ts'
export {
  createReceiver,
  type ReceivedEvent,
  type ReceiverOptions,
  type TestReceiver,
} from './receiver.ts'
export type { ReceiverStep } from './receiver-steps.ts'
export type { RetrySchedule } from './retry.ts'
export {
  type Attempt,
  createSender,
  type DeliveryReport,
  type Sender,
  type SenderOptions,
} from './sender.ts'
export {
  createTestService,
  type SentMessage,
  type TestService,
  type TestServiceOptions,
} from './service.ts'
export type { Caller } from './service-caller.ts'
export {
  type InjectedDelivery,
  type SignableEvent,
  type SignedDelivery,
  type SignOptions,
  sign,
} from './sign.ts'
export type { Answer, FetchHandler, Target } from './transport.ts'
export type { WaitOptions } from './waiting.ts'
