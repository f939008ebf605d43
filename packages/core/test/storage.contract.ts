import { describe } from 'vitest'
import { acceptContract } from './storage/accept.contract.ts'
import { accountsContract } from './storage/accounts.contract.ts'
import type { OpenStorage } from './storage/bench.ts'
import { claimDeliveriesContract } from './storage/claim-deliveries.contract.ts'
import { claimMessagesContract } from './storage/claim-messages.contract.ts'
import { fanOutContract } from './storage/fan-out.contract.ts'
import { historyContract } from './storage/history.contract.ts'
import { idempotencyContract } from './storage/idempotency.contract.ts'
import { isolationContract } from './storage/isolation.contract.ts'
import { listsContract } from './storage/lists.contract.ts'
import { receiptsContract } from './storage/receipts.contract.ts'
import { recordDeliveriesContract } from './storage/record-deliveries.contract.ts'
import { reopenContract } from './storage/reopen.contract.ts'
import { secretsContract } from './storage/secrets.contract.ts'
import { settleContract } from './storage/settle.contract.ts'
import { writeContract } from './storage/write.contract.ts'

/**
 * What every storage engine promises, through the port alone. `open` gives an empty storage for each test; `reopen`
 * and `close` must leave nothing behind but what was committed.
 */
export function storageContract(engine: string, open: OpenStorage): void {
  describe(`storage on ${engine}`, () => {
    describe('accounts', () => accountsContract(open))
    describe('write', () => writeContract(open))
    describe('lists', () => listsContract(open))
    describe('isolation', () => isolationContract(open))
    describe('accept', () => acceptContract(open))
    describe('idempotency', () => idempotencyContract(open))
    describe('claimMessages', () => claimMessagesContract(open))
    describe('settle', () => settleContract(open))
    describe('receipts', () => receiptsContract(open))
    describe('fan-out', () => fanOutContract(open))
    describe('claimDeliveries', () => claimDeliveriesContract(open))
    describe('recordDeliveries', () => recordDeliveriesContract(open))
    describe('secrets', () => secretsContract(open))
    describe('any history', () => historyContract(open))
    describe('reopen', () => reopenContract(open))
  })
}
