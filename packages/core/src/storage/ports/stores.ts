export type { AuditFilter, AuditNames, OperatorAuditFilter } from '../stores/audit.ts'
export type { BroadcastChange } from '../stores/broadcasts.ts'
export type { AudienceFilter, ContactFilter } from '../stores/contacts.ts'
export type { AccountRecord, LowBalance, Overdue, Posted, Terms } from '../stores/credits.ts'
export type { IdWindow, SearchedTable } from '../stores/erasure.ts'
export type { EventLogState, LoggedEvent } from '../stores/event-log.ts'
export type { FileOfMessage } from '../stores/files.ts'
export type { HistoryPage, HistoryTable } from '../stores/history.ts'
export type { Folded, FoldStep } from '../stores/ledger-openings.ts'
export type { ListedStatus, MessageFilter, SuppressedSince } from '../stores/message-totals.ts'
export type { PeriodCount, PlaceCount, ShortMessageRow } from '../stores/messages.ts'
export type {
  CreditTotals,
  FailedMessage,
  MessageQueueState,
  MessageTotal,
  QueueState,
  QueueStates,
  TroubledWebhook,
  UnknownMessage,
  WebhookTotals,
} from '../stores/overview.ts'
export type { Doubt, DoubtfulMessage, DoubtfulTotal } from '../stores/pauses.ts'
export type { PurchaseChange, PurchaseStatus, WhichPurchases } from '../stores/purchases.ts'
export type { ReceivedFilter } from '../stores/received-messages.ts'
export type { IndexSizes } from '../stores/recipient-index.ts'
export type { RetentionKind } from '../stores/retention.ts'
export type {
  DomainSecretColumns,
  SigningKeyColumns,
  WebhookSecretColumns,
} from '../stores/secrets.ts'
export type { Reads, Writes } from '../stores/stores.ts'
export type { SuppressionFilter, SuppressionPosition } from '../stores/suppressions.ts'
export type { WebhookNotice } from '../stores/webhook-notices.ts'
export type { DeliveryFilter, WebhookChange } from '../stores/webhooks.ts'
