import type { Tables } from './tables.ts'

/** A row of the table with that name. It is the same on both engines. */
export type Row<Name extends keyof Tables> = Tables[Name]['$inferSelect']
export type WorkspaceRow = Row<'workspaces'>
export type AccountTokenRow = Row<'account_tokens'>
export type EndedSessionRow = Row<'ended_sessions'>
export type LoginNetworkRow = Row<'login_networks'>
export type OwnerMailRow = Row<'owner_mails'>
export type ApiKeyRow = Row<'api_keys'>
export type TestUsageRow = Row<'test_usage'>
export type ContactRow = Row<'contacts'>
export type SuppressionRow = Row<'suppressions'>
export type HoldRow = Row<'credit_holds'>
export type LotRow = Row<'credit_lots'>
export type PurchaseRow = Row<'purchases'>
export type MessageRow = Row<'messages'>
export type BulkRow = Row<'bulks'>
export type MessageQueueRow = Row<'message_queue'>
export type MessageAttemptRow = Row<'message_attempts'>
export type MessageEventRow = Row<'message_events'>
export type MessagePartRow = Row<'message_parts'>
export type ConversationRow = Row<'conversations'>
export type PauseRow = Row<'provider_pauses'>
export type ParkedReceiptRow = Row<'parked_receipts'>
export type ReceivedMessageRow = Row<'received_messages'>
export type ReceivedPartRow = Row<'received_parts'>
export type SecretRow = Row<'secrets'>
export type WebhookRow = Row<'webhooks'>
export type EventRow = Row<'events'>
export type EventLogRow = Row<'event_log'>
export type DeliveryRow = Row<'deliveries'>
export type DeliveryQueueRow = Row<'delivery_queue'>
export type DeliveryAttemptRow = Row<'delivery_attempts'>
export type SendingDomainRow = Row<'sending_domains'>
export type DispatchPauseRow = Row<'dispatch_pauses'>
export type RetentionMarkRow = Row<'retention_marks'>
export type AuditEntryRow = Row<'audit_entries'>
