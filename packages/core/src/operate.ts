/**
 * Functions for operators' tools: reading settings, backups, archives, the ledger, the state of the database. `@svc/server`
 * and the `svc` command use them; a program that embeds the service needs `@svc/core` alone.
 */

export { requireScope } from './api-keys/api-keys.ts'
export { requireCapability } from './api-keys/credential.ts'
export type { OperatorAuditEntry } from './audit/audit.ts'
export { transactionOf } from './billing/billing.ts'
export { signNotification } from './billing/sandbox.ts'
export type { SyncChange, SyncOptions, SyncProgress, SyncReport } from './billing/sync-all.ts'
export { TRANSACTIONS_CSV_HEADER, writeTransactionsCsv } from './billing/transaction-lines.ts'
export {
  assertNames,
  type ListedProvider,
  readProvider,
  readProviders,
} from './carriers/read-providers.ts'
export type { WireContact } from './contacts/read-contacts.ts'
export {
  CSV_HEADER,
  type FileOfContacts,
  type FileOptions,
  piecesOf,
  readContacts,
  writeContactsCsv,
} from './contacts/read-contacts.ts'
export {
  agoText,
  countedText,
  countText,
  creditsText,
  durationText,
  rateText,
  sparkline,
} from './contract/fields/amounts.ts'
export type { WebhookStatus } from './contract/resources/webhooks.ts'
export type {
  DispatchPause,
  DoubtfulChoice,
  Resumed,
  Standstill,
  StandstillOptions,
} from './control/dispatch-control.ts'
export type { ProviderStatus, RecentOutcomes } from './control/provider-desk.ts'
export { type DecodedCore, decodedOf } from './core.ts'
export type { Booked } from './credits/ledger-lines.ts'
export { LEDGER_CSV_HEADER, ledgerCsvLine, ledgerJsonLine } from './credits/ledger-lines.ts'
export { closeConnections, stopListening } from './http/close-gracefully.ts'
export type { MigrateDatabaseOptions } from './maintenance/archive/database.ts'
export { type ExportOptions, exportArchive } from './maintenance/archive/export-archive.ts'
export type { MoveReport, OnProgress, TableSum } from './maintenance/archive/format.ts'
export { type ImportOptions, importArchive } from './maintenance/archive/import-archive.ts'
export {
  type MigrationPlan,
  type PlannedMigration,
  planMigrations,
  type TableWork,
} from './maintenance/archive/migration-plan.ts'
export { migrateDatabase, migrationStatus } from './maintenance/archive/open.ts'
export { type BackupOptions, backupDatabase } from './maintenance/backup/backup.ts'
export type { CheckOptions } from './maintenance/backup/check-backup.ts'
export type { MakeOptions } from './maintenance/backup/make-backup.ts'
export type { NamedBackup } from './maintenance/backup/names.ts'
export { backupsIn } from './maintenance/backup/names.ts'
export type {
  BackupCheck,
  BackupReport,
  OnStep,
  Verification,
} from './maintenance/backup/report.ts'
export { restoreDatabase, verifyBackup } from './maintenance/backup/restore.ts'
export type { RestoreOptions, RestoreReport } from './maintenance/backup/restore-backup.ts'
export {
  type CompactReport,
  type CompactStep,
  compactDatabase,
} from './maintenance/compact/compact.ts'
export {
  findDamageApart,
  inspectDatabaseApart,
  verifyLedgerApart,
} from './maintenance/inspect/apart.ts'
export type { DatabaseFacts, EngineFacts, QueueFaults } from './maintenance/inspect/facts.ts'
export {
  findDamage,
  inspectDatabase,
  inspectReplicas,
  isDatabaseExposed,
} from './maintenance/inspect/inspect.ts'
export type { ReadOptions } from './maintenance/ledger/read-ledger.ts'
export { type BookedEntry, readLedger } from './maintenance/ledger/read-ledger.ts'
export type {
  CounterAccount,
  LedgerCheck,
  LedgerDifference,
  LedgerReport,
} from './maintenance/ledger/report.ts'
export type { OpenKey } from './maintenance/ledger/run.ts'
export {
  type LedgerFile,
  type LedgerFileDifference,
  type LedgerFilesReport,
  verifyLedgerFiles,
} from './maintenance/ledger/verify-files.ts'
export { type VerifyOptions, verifyLedger } from './maintenance/ledger/verify-ledger.ts'
export {
  addPartitions,
  attachPartitions,
  type DetachedPartitions,
  type DetachPartitionsOptions,
  detachPartitions,
  enablePartitions,
  inspectDetached,
  inspectPartitions,
} from './maintenance/partitions/partitions.ts'
export { MESSAGES_CSV_HEADER, writeMessagesCsv } from './messages/export-messages.ts'
export { readSequenceLimit } from './messages/sequence-detector.ts'
export type { Operator, OperatorSession } from './operators/operators.ts'
export type { Pause, Sentence } from './overview/findings.ts'
export {
  DELIVERY_LATE_MS,
  dueSinceMs,
  type Finding,
  findingsOf,
  isSilent,
  MESSAGE_LATE_MS,
  pauseText,
  type Reading,
  readOnce,
} from './overview/findings.ts'
export type { Sample, Series, Totals } from './overview/history.ts'
export { createHistory, type History, type Rates, SERIES } from './overview/history.ts'
export type { Overview, PausedCountry, ProviderQueue, Troubles } from './overview/overview.ts'
export type { NumberFacts } from './prices/number-facts.ts'
export { lookUpNumber, readCountries } from './prices/price.ts'
export { readPrices } from './prices/read-prices.ts'
export { makesCallbacks } from './providers/registry.ts'
export { headFault } from './providers/smtp/mail-head.ts'
export { messageSource, ownerMailSource } from './providers/smtp/mail-source.ts'
export { AUDIT_DAYS_DEFAULT } from './retention/audit-retention.ts'
export type { ErasureOptions, ErasureReport } from './retention/erasure.ts'
export { LEDGER_DAYS_MIN, RETENTION_DAYS_MAX, RETENTION_DAYS_MIN } from './retention/retention.ts'
export type { CountedStatus, StatusCallbackRequest } from './rows/messages.ts'
export type { QueuePart } from './rows/operating.ts'
export { LEDGER_SECRET } from './rules/fold.ts'
export { RESEND_EVENTS } from './rules/formats/resend.ts'
export { SUPPRESSED_TEXT } from './rules/recipients.ts'
export { type Awaitable, whenReady } from './runtime/awaitable.ts'
export { builtFile } from './runtime/built-file.ts'
export { type ByteBudget, createByteBudget } from './runtime/byte-budget.ts'
export { inTurns, stepsInTurns } from './runtime/in-turns.ts'
export { makeFolder } from './runtime/make-folder.ts'
export { malformedJson, readJson } from './runtime/read-json.ts'
export { readJsonWithFiles } from './runtime/read-with-files.ts'
export { within } from './runtime/within.ts'
export type { SecretsKey } from './secrets/keys.ts'
export { readSecretsKeys } from './secrets/keys.ts'
export { secretOpener } from './secrets/secrets.ts'
export type { BatchOptions, DiscardReport } from './secrets-at-rest/discard-secrets.ts'
export type {
  ResealOptions,
  ResealReport,
  SecretsStatus,
} from './secrets-at-rest/secrets-at-rest.ts'
export { serversOf } from './storage/database-url.ts'
export type { MigrationStatus } from './storage/migrations.ts'
export type {
  CreditTotals,
  DoubtfulMessage,
  DoubtfulTotal,
  FailedMessage,
  MessageQueueState,
  MessageTotal,
  QueueState,
  TroubledWebhook,
  WebhookTotals,
} from './storage/ports/stores.ts'
export type {
  PartitionOptions,
  PartitionStep,
} from './storage/postgres/engine/partitions/change.ts'
export type { DetachStep } from './storage/postgres/engine/partitions/detach.ts'
export type { DetachedStep } from './storage/postgres/engine/partitions/detached.ts'
export type {
  Partition,
  PartitionedTable,
  TablePartitions,
} from './storage/postgres/engine/partitions/state.ts'
export type { Source } from './tables/encoding.ts'
export { TableFault } from './tables/encoding.ts'
export { type CountryCode, isCountry, type PhoneResult, readPhone } from './tables/phone-numbers.ts'
export { openTable, type Table, type TableRow } from './tables/read-table.ts'
export {
  type RecipientColumns,
  recipientColumnsOf,
  type TableRecipient,
} from './tables/recipients.ts'
export {
  checkAttributes,
  readVerbs,
  type TwimlElement,
  TwimlError,
  unsupported,
} from './twiml/send-replies.ts'
export { VERIFICATION_DAYS_DEFAULT } from './verifications/ends.ts'
export { reachTarget } from './webhooks/target-connector.ts'
