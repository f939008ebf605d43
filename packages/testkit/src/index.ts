/** Test a webhook receiver: signed deliveries to send it, and a receiver to see what a sender does. */
export { EVENT_KINDS, EVENTS, type EventKind, type WireEventData } from '@svc/core/contract'
export {
  SIGNATURE_HEADERS,
  type VerificationFailure,
  type VerificationResult,
  verify,
} from '@svc/core/webhooks'
export { createDelivery, type DeliveryOptions, type SignedDelivery } from './delivery.ts'
export { createReceiver, type ReceivedDelivery, type TestReceiver } from './receiver.ts'
