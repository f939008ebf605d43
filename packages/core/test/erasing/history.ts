import type { MessageRow, ReceivedMessageRow, VerificationRow } from '../../src/rows/rows.ts'
import type { AcceptRequest } from '../../src/rules/accept.ts'
import { type Bench, only, receipt } from '../storage/bench.ts'

/** Found nowhere but in what is to be gone. */
export const SECRET = 'zanzibar-7319'

/** The steps that give a workspace a history in which an address stands wherever it can. */
export function historySteps(bench: Bench) {
  async function announce(): Promise<void> {
    for (const claimed of await bench.claimDeliveries()) {
      await bench.record(claimed, { response_body: `got ${claimed.body}` })
    }
  }

  return {
    /** Sends the due deliveries; each webhook answers with the body that it received. */
    announce,
    /** The request that starts a verification of the address with a message to it. */
    asking(workspaceId: string, fields: Partial<VerificationRow> = {}): AcceptRequest {
      const verification = bench.make.verification(workspaceId, fields)
      const { recipient, livemode } = verification
      const send = bench.make.send(workspaceId, { recipient, livemode })
      return { ...send, code: { verification, resends: null, response: () => '' } }
    },
    /** A message that was sent, and then failed with a text that names its recipient, or was delivered. */
    async done(
      workspaceId: string,
      recipient: string,
      { status = 'delivered' as 'delivered' | 'failed', ...overrides }: Overrides = {},
    ): Promise<MessageRow> {
      const message = await bench.queued(workspaceId, {
        recipient,
        content: { text: `Dear ${SECRET}` },
        metadata: { who: SECRET },
        sender: '+255700000001',
        ...overrides,
      })
      const claimed = only(await bench.claimMessages())
      await bench.settle(claimed, {
        task: 'send',
        attempt: 1,
        sender: '+255700000001',
        outcome: {
          type: 'accepted',
          provider_message_id: `wamid.${message.id}`,
          lookup_after_ms: null,
        },
      })
      const report = { ...receipt(status), error_message: `${recipient} ${SECRET}` }
      const held = { workspace_id: workspaceId, message_id: message.id, token: null }
      await bench.settle(held, { task: 'callback', receipts: [report] })
      await announce()
      return message
    },
    /** A message that a provider refused at once, naming its recipient, and that was refunded. */
    async refused(
      workspaceId: string,
      recipient: string,
      overrides: Overrides = {},
    ): Promise<MessageRow> {
      const message = await bench.queued(workspaceId, { recipient, ...overrides })
      const claimed = only(await bench.claimMessages())
      const error = { error_code: 'invalid_recipient', error_message: `no ${recipient}` }
      await bench.settle(claimed, {
        task: 'send',
        attempt: 1,
        outcome: { type: 'rejected', ...error },
      })
      await announce()
      return message
    },
    /** A bulk of one message to another recipient, which rejected these. Returns its id. */
    async rejected(workspaceId: string, recipients: readonly string[]): Promise<string> {
      const request = bench.make.bulk(workspaceId, 1)
      const bulk = bench.make.bulkRow(request.messages, { rejected: recipients.length })
      const rejections = bench.make.rejections(bulk, recipients)
      for (const row of rejections) row.message = `${SECRET} ${row.recipient}`
      await bench.accept({ ...request, bulk, rejections })
      await bench.storage.hot.cancel({
        workspace_id: workspaceId,
        message_ids: request.messages.map(({ id }) => id),
        at: bench.clock.now(),
      })
      await announce()
      return bulk.id
    },
    /** A received message. */
    async received(workspaceId: string, sender: string): Promise<ReceivedMessageRow> {
      const id = bench.clock.id()
      const row: ReceivedMessageRow = {
        id,
        workspace_id: workspaceId,
        channel: 'sms',
        provider: 'carrier',
        provider_message_id: id,
        sender,
        recipient: '+255700000001',
        content: { text: SECRET, media: [] },
        keyword: null,
        livemode: true,
        created_at: bench.clock.now(),
      }
      await bench.storage.write(({ receivedMessages }) => receivedMessages.insert(row))
      return row
    },
  }
}

type Overrides = Partial<Omit<MessageRow, 'status'>> & { status?: 'delivered' | 'failed' }
