import { describe } from 'vitest'
import { acceptContract } from './storage/accept.contract.ts'
import { accountTokensContract } from './storage/account-tokens.contract.ts'
import { accountsContract } from './storage/accounts.contract.ts'
import { auditContract } from './storage/audit.contract.ts'
import type { OpenStorage } from './storage/bench.ts'
import { broadcastsContract } from './storage/broadcasts.contract.ts'
import { bulkPausesContract } from './storage/bulk-pauses.contract.ts'
import { bulksContract } from './storage/bulks.contract.ts'
import { callsContract } from './storage/calls.contract.ts'
import { cancelContract } from './storage/cancel.contract.ts'
import { claimDeliveriesContract } from './storage/claim-deliveries.contract.ts'
import { claimMessagesContract } from './storage/claim-messages.contract.ts'
import { claimTurnsContract } from './storage/claim-turns.contract.ts'
import { clockStepsContract } from './storage/clock-steps.contract.ts'
import { contactsContract } from './storage/contacts.contract.ts'
import { creditSumsContract } from './storage/credit-sums.contract.ts'
import { creditsContract } from './storage/credits.contract.ts'
import { dailyLimitContract } from './storage/daily-limit.contract.ts'
import { dispatchPausesContract } from './storage/dispatch-pauses.contract.ts'
import { eventLogContract } from './storage/event-log.contract.ts'
import { fanOutContract } from './storage/fan-out.contract.ts'
import { filesContract } from './storage/files.contract.ts'
import { handOverContract } from './storage/hand-over.contract.ts'
import { handOverDeliveriesContract } from './storage/hand-over-deliveries.contract.ts'
import { historyContract } from './storage/history.contract.ts'
import { holdsContract } from './storage/holds.contract.ts'
import { idempotencyContract } from './storage/idempotency.contract.ts'
import { isolationContract } from './storage/isolation.contract.ts'
import { ledgerFuzzContract } from './storage/ledger-fuzz.contract.ts'
import { listsContract } from './storage/lists.contract.ts'
import { loginNetworksContract } from './storage/login-networks.contract.ts'
import { longContentsContract } from './storage/long-contents.contract.ts'
import { lotsContract } from './storage/lots.contract.ts'
import { lowBalancesContract } from './storage/low-balances.contract.ts'
import { mailRecipientsContract } from './storage/mail-recipients.contract.ts'
import { membersContract } from './storage/members.contract.ts'
import { messageCountsContract } from './storage/message-counts.contract.ts'
import { messagePartsContract } from './storage/message-parts.contract.ts'
import { newerContract } from './storage/newer.contract.ts'
import { operatorCreditsContract } from './storage/operator-credits.contract.ts'
import { optedOutContract } from './storage/opted-out.contract.ts'
import { overviewContract } from './storage/overview.contract.ts'
import { ownersContract } from './storage/owners.contract.ts'
import { providerPausesContract } from './storage/provider-pauses.contract.ts'
import { purchaseListsContract } from './storage/purchase-lists.contract.ts'
import { purchasesContract } from './storage/purchases.contract.ts'
import { purchasesBegunContract } from './storage/purchases-begun.contract.ts'
import { rateCountersContract } from './storage/rate-counters.contract.ts'
import { receiptsContract } from './storage/receipts.contract.ts'
import { receivedContract } from './storage/received.contract.ts'
import { receiverGateContract } from './storage/receiver-gate.contract.ts'
import { recipientIndexContract } from './storage/recipient-index.contract.ts'
import { recordDeliveriesContract } from './storage/record-deliveries.contract.ts'
import { reopenContract } from './storage/reopen.contract.ts'
import { rescheduleContract } from './storage/reschedule.contract.ts'
import { secretsContract } from './storage/secrets.contract.ts'
import { sessionsContract } from './storage/sessions.contract.ts'
import { settleContract } from './storage/settle.contract.ts'
import { suppressedContract } from './storage/suppressed.contract.ts'
import { suppressionsContract } from './storage/suppressions.contract.ts'
import { templatesContract } from './storage/templates.contract.ts'
import { testDeliveriesContract } from './storage/test-deliveries.contract.ts'
import { testQuotasContract } from './storage/test-quotas.contract.ts'
import { verificationsContract } from './storage/verifications.contract.ts'
import { webhookNoticesContract } from './storage/webhook-notices.contract.ts'
import { webhooksContract } from './storage/webhooks.contract.ts'
import { writeContract } from './storage/write.contract.ts'

/**
 * What every storage engine promises, through the port alone. `open` gives an empty storage for each test; `reopen`
 * and `close` must leave nothing behind but what was committed.
 */
export function storageContract(engine: string, open: OpenStorage): void {
  describe(`storage on ${engine}`, () => {
    describe('accounts', () => accountsContract(open))
    describe('owners', () => ownersContract(open))
    describe('members', () => membersContract(open))
    describe('tokens of mails', () => accountTokensContract(open))
    describe('sessions', () => sessionsContract(open))
    describe('networks of logins', () => loginNetworksContract(open))
    describe('credits', () => creditsContract(open))
    describe('holds', () => holdsContract(open))
    describe('lots', () => lotsContract(open))
    describe('credits of an operator', () => operatorCreditsContract(open))
    describe('low balances', () => lowBalancesContract(open))
    describe('webhook notices', () => webhookNoticesContract(open))
    describe('contacts', () => contactsContract(open))
    describe('suppressions', () => suppressionsContract(open))
    describe('templates', () => templatesContract(open))
    describe('write', () => writeContract(open))
    describe('lists', () => listsContract(open))
    describe('isolation', () => isolationContract(open))
    describe('accept', () => acceptContract(open))
    describe('bulks', () => bulksContract(open))
    describe('pauses of bulks', () => bulkPausesContract(open))
    describe('long contents', () => longContentsContract(open))
    describe('broadcasts', () => broadcastsContract(open))
    describe('suppressed recipients', () => suppressedContract(open))
    describe('recipients who opted out meanwhile', () => optedOutContract(open))
    describe('a daily limit', () => dailyLimitContract(open))
    describe('quotas of test keys', () => testQuotasContract(open))
    describe('one-time codes', () => verificationsContract(open))
    describe('idempotency', () => idempotencyContract(open))
    describe('claimMessages', () => claimMessagesContract(open))
    describe('claims of a backlog', () => claimTurnsContract(open))
    describe('messages that are claimed as they are queued', () => handOverContract(open))
    describe('deliveries that are claimed as they are queued', () =>
      handOverDeliveriesContract(open))
    describe('a clock that is set', () => clockStepsContract(open))
    describe('settle', () => settleContract(open))
    describe('calls', () => callsContract(open))
    describe('an e-mail with several recipients', () => mailRecipientsContract(open))
    describe('parts of messages', () => messagePartsContract(open))
    describe('overview', () => overviewContract(open))
    describe('pauses of providers', () => providerPausesContract(open))
    describe('pauses of all dispatch', () => dispatchPausesContract(open))
    describe('cancel', () => cancelContract(open))
    describe('newer pages', () => newerContract(open))
    describe('reschedule', () => rescheduleContract(open))
    describe('message counts', () => messageCountsContract(open))
    describe('the sums of credits', () => creditSumsContract(open))
    describe('the index of recipients', () => recipientIndexContract(open))
    describe('receipts', () => receiptsContract(open))
    describe('received messages', () => receivedContract(open))
    describe('files of e-mails', () => filesContract(open))
    describe('fan-out', () => fanOutContract(open))
    describe('the log of events', () => eventLogContract(open))
    describe('webhooks', () => webhooksContract(open))
    describe('claimDeliveries', () => claimDeliveriesContract(open))
    describe('the gate of a host', () => receiverGateContract(open))
    describe('deliveries about test messages', () => testDeliveriesContract(open))
    describe('recordDeliveries', () => recordDeliveriesContract(open))
    describe('count', () => rateCountersContract(open))
    describe('purchases', () => purchasesContract(open))
    describe('purchases begun', () => purchasesBegunContract(open))
    describe('lists of purchases', () => purchaseListsContract(open))
    describe('secrets', () => secretsContract(open))
    describe('audit log', () => auditContract(open))
    describe('any history', () => historyContract(open))
    describe('any ledger', () => ledgerFuzzContract(open))
    describe('reopen', () => reopenContract(open))
  })
}
