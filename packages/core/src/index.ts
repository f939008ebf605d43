/** The messaging service without a framework: `createCore` opens the service on its database. */
export type { ApiKeys, KeyIdentity } from './api-keys/api-keys.ts'
export type { Viewer } from './api-keys/viewer.ts'
export type { Audit } from './audit/audit.ts'
export type { Actor } from './audit/entry.ts'
export type { Billing, Purchase } from './billing/billing.ts'
export type { Begun, Checkout } from './billing/checkout.ts'
export type {
  Notification,
  Order,
  Payment,
  PaymentProvider,
  PaymentState,
  Session as CheckoutSession,
  Subject,
} from './billing/payment.ts'
export type { Decision } from './billing/sandbox.ts'
export { createSandboxPayments, type SandboxPayments } from './billing/sandbox.ts'
export { createStripePayments, type StripeOptions } from './billing/stripe.ts'
export type { ExportedTransaction } from './billing/transaction-lines.ts'
export type { BroadcastRecipient, Broadcasts } from './broadcasts/broadcasts.ts'
export type {
  Addressee,
  ContactQuery,
  Contacts,
  ContactTag,
  FilePreview,
  FileReport,
  TagQuery,
} from './contacts/contacts.ts'
export type { ImportOptions, ImportReport, PreviewedRows } from './contacts/import.ts'
export type {
  AddressContact,
  FileOfContacts,
  FileOptions,
  RowOfContact,
} from './contacts/read-contacts.ts'
export type { Suppressions } from './contacts/suppressions.ts'
export type { Unsubscribe, UnsubscribeLink } from './contacts/unsubscribe.ts'
export type { Mail, Mailer, MailKind } from './contract/outside/mail.ts'
export type {
  AttemptOutcome,
  DkimKey,
  JobRecipient,
  RecipientOutcome,
  RecipientReceipt,
} from './contract/outside/provider.ts'
export type { RecipientRole } from './contract/resources/mail-recipients.ts'
export type { DispatchControl } from './control/dispatch-control.ts'
export type { Checked, ProviderDesk } from './control/provider-desk.ts'
export { type Core, createCore, type Mails } from './core.ts'
export type { CoreOptions } from './core-options.ts'
export type { Adjustment, Booked, Grant } from './credits/bookings.ts'
export type { CreditAccount, CreditLot, Credits, Hold, TermsChange } from './credits/credits.ts'
export type { HoldEndResult, Holding, HoldRequest, HoldResult } from './credits/holding.ts'
export type { Sides, Spending, SpendingFilter, Statement } from './credits/spending.ts'
export type { Dispatcher } from './dispatch/dispatcher.ts'
export type { Domains } from './domains/domains.ts'
export type {
  CoreEvent,
  EventFeed,
  EventOf,
  EventPageOptions,
  EventsOptions,
  HandledEvent,
  HandlerOptions,
} from './events/feed.ts'
export { type Closable, type ClosableHost, closeGracefully } from './http/close-gracefully.ts'
export type {
  Conversation,
  ReceivedMessages,
  SimulatedMessage,
} from './inbound/received-messages.ts'
export type { Keyword, ReplyTexts } from './inbound/reply.ts'
export type { KeptMail, SandboxMailer } from './mail/sandbox-mailer.ts'
export type { IdempotentResult } from './messages/acceptance.ts'
export type { Breakdown, PlaceOutcomes } from './messages/breakdown.ts'
export type {
  BulkPreview,
  Bulks,
  ListedBulk,
  SendOptions as BulkOptions,
  SendOptionsIn as BulkOptionsIn,
} from './messages/bulk.ts'
export type { SentBulk } from './messages/bulk-accept.ts'
export type {
  DoorOptions,
  Messages,
  SendOptions,
  SendOptionsIn,
  Sent,
} from './messages/messages.ts'
export {
  ExportBound,
  type FoundMessage,
  type FoundMessages,
  type ShortMessage,
} from './messages/search.ts'
export type { SequenceLimit } from './messages/sequence-detector.ts'
export type { HistoryPoint, Outcomes, TimelineEntry } from './messages/timeline.ts'
export type { Operators } from './operators/operators.ts'
export type { Overviews, Queues } from './overview/overview.ts'
export type {
  FoundPerson,
  People,
  Person,
  PersonEntry,
  PersonSuppression,
  SentWith,
} from './people/people.ts'
export type { ChannelPrice, CountryRule, Prices } from './prices/price.ts'
export * from './provider.ts'
export type { ProviderModule, ProviderOption } from './providers/install.ts'
export type { ProviderSettings, ProviderSettingsInput, Schema } from './providers/registry.ts'
export type { RecipientZone } from './quiet-hours/quiet-hours.ts'
export type { DocumentRequest, Files } from './remote-files/remote-files.ts'
export type { Recipients } from './retention/erasure.ts'
export type { EntryKind } from './rows/credits.ts'
export type { CauseSum } from './rules/credit-sums.ts'
export type { Account, Entry, Refusal } from './rules/decide.ts'
export type { Forecast } from './rules/forecast.ts'
export { type Log, type Runtime, systemRuntime } from './runtime/runtime.ts'
export {
  CODE_CHECK_RESULTS,
  type CodeCheckResult,
  DELIVERY_OUTCOMES,
  type DeliveryOutcome,
  type Telemetry,
} from './runtime/telemetry.ts'
export type {
  HeldPasskeys,
  Passkey,
  PasskeyOptions,
  PasskeySite,
} from './second-factor/passkeys.ts'
export type { SecondFactorState, TotpSecret } from './second-factor/second-factor.ts'
export type { SecretsAtRest } from './secrets-at-rest/secrets-at-rest.ts'
export type { Durability } from './storage/database-url.ts'
export type { Counter, Counting } from './storage/ports/hot.ts'
export type { ReplicaState } from './storage/ports/storage.ts'
export type {
  AccountRecord,
  AuditFilter,
  DeliveryFilter,
  OperatorAuditFilter,
  PurchaseStatus,
  QueueStates,
  SuppressionFilter,
  UnknownMessage,
  WhichPurchases,
} from './storage/ports/stores.ts'
export type { Templates } from './templates/templates.ts'
export type { Verifications } from './verifications/verifications.ts'
export type { WebhookChanges, WithWarning } from './webhooks/changes.ts'
export type { MessageDelivery, SentRequest, WebhookDeliveries } from './webhooks/deliveries.ts'
export type { WebhookHealthReport } from './webhooks/health.ts'
export type { Dns } from './webhooks/resolver.ts'
export type { TargetPolicy } from './webhooks/target.ts'
export type { Webhooks } from './webhooks/webhooks.ts'
export type { Access } from './workspaces/access.ts'
export type { Invitations, OpenInvitation } from './workspaces/invitations.ts'
export type { Links } from './workspaces/links.ts'
export type { LoginFactors } from './workspaces/login-factors.ts'
export type { Members, Membership } from './workspaces/members.ts'
export type { FilterOwner, SavedFilters } from './workspaces/saved-filters.ts'
export type { Inactivity, NewSession, SessionName, Sessions } from './workspaces/sessions.ts'
export type { OidcPerson, SignIn } from './workspaces/sign-in.ts'
export { type Revoked, SIGNUP_CREDITS_ON, type SignupCreditsOn } from './workspaces/verification.ts'
export type { Session as LoginSession, Workspaces } from './workspaces/workspaces.ts'
