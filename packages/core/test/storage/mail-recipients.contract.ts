import { expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import type { Outcome, RecipientOutcome } from '../../src/contract/outside/provider.ts'
import type { MessageRow } from '../../src/rows/rows.ts'
import type { ClaimedMessage } from '../../src/rules/claim.ts'
import type { Settlement } from '../../src/rules/settlement.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { benchFor, type OpenStorage } from './bench.ts'

const TO = 'asha@example.com'
const CC = 'juma@example.com'
const BCC = 'neema@example.com'
const ALL = [
  { address: TO, role: 'to' },
  { address: CC, role: 'cc' },
  { address: BCC, role: 'bcc' },
] as const

const QUEUED = { status: 'queued', accepted: false, error_code: null, error_message: null } as const
const GONE = { error_code: 'invalid_recipient', error_message: 'No such recipient' } as const
const LATER = { error_code: 'mailbox_full', error_message: 'The mailbox is full' } as const

const MAIL = {
  channel: 'email',
  recipient: TO,
  recipients: ALL.map((one) => ({ ...one, ...QUEUED })),
  tags: [{ name: 'campaign', value: 'may' }],
  content: { subject: 'Your order', text: 'It is ready' },
  credits_used: units(3 * SMS_PRICE),
  segments: null,
  encoding: null,
} as const satisfies Partial<MessageRow>

/** One message and one debit for all recipients; each has its own outcome and its share of the price. */
export function mailRecipientsContract(open: OpenStorage): void {
  const bench = benchFor(open)

  const queued = (workspaceId: string) =>
    bench.queued(workspaceId, { ...MAIL, recipients: MAIL.recipients.map((one) => ({ ...one })) })

  async function claim(): Promise<ClaimedMessage> {
    const [claimed, ...others] = await bench.claimMessages()
    if (!claimed || others.length > 0) throw new Error(`claimed ${others.length + 1}`)
    return claimed
  }

  const send = (claimed: ClaimedMessage, outcome: Outcome) =>
    bench.settle(claimed, { task: 'send', attempt: claimed.attempt, outcome })

  const accepted = (...recipients: RecipientOutcome[]): Outcome => ({
    type: 'accepted',
    provider_message_id: 'P1',
    lookup_after_ms: null,
    recipients,
  })

  const statesOf = ({ recipients }: MessageRow) =>
    recipients?.map(({ address, status, error_code }) => [address, status, error_code])

  /** The refunds of the ledger. */
  const refunds = async (workspaceId: string) =>
    (await bench.ledger(workspaceId)).flatMap(({ kind, amount }) =>
      kind === 'refund' ? [amount / SMS_PRICE] : [],
    )

  it('refunds the share of a rejected recipient in the commit of the acceptance', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    const { id } = await queued(workspaceId)
    await send(
      await claim(),
      accepted({ address: CC, type: 'rejected', ...GONE, suppress: 'bounce' }),
    )
    const message = await bench.message(workspaceId, id)
    expect(message).toMatchObject({ status: 'sent', accepted: true, credits_refunded: SMS_PRICE })
    expect(statesOf(message)).toEqual([
      [TO, 'sent', null],
      [CC, 'failed', 'invalid_recipient'],
      [BCC, 'sent', null],
    ])
    expect(await refunds(workspaceId)).toEqual([1])
    expect(await bench.claimMessages()).toEqual([])
    const { suppressions, webhooks } = bench.storage.read
    expect(await suppressions.of(workspaceId, [TO, CC, BCC])).toMatchObject([
      { channel: 'email', address: CC, reason: 'bounce' },
    ])
    const bodies = (await bench.claimDeliveries()).map(({ body }) => JSON.parse(body))
    expect(await webhooks.deliveriesOf(workspaceId, id)).toHaveLength(2)
    const [{ data }] = bodies
    expect(data.tags).toEqual(MAIL.tags)
    expect(data.recipients).toContainEqual({ address: CC, role: 'cc', status: 'failed', ...GONE })
    expect(JSON.stringify(data)).not.toContain('accepted')
    expect(bodies).toMatchObject([
      { event: 'message.sent', data: { status: 'sent', error_code: null, sequence: 1 } },
      {
        event: 'message.recipients_failed',
        data: { recipient: TO, status: 'sent', ...GONE, failed_recipients: [CC], sequence: 2 },
      },
    ])
  })

  it('fails and is refunded once when all are rejected', async () => {
    const workspaceId = await bench.workspace()
    const { id } = await queued(workspaceId)
    const { balance } = await bench.account(workspaceId)
    const claimed = await claim()
    await send(claimed, { type: 'rejected', ...GONE })
    await send(claimed, { type: 'rejected', ...GONE })
    const message = await bench.message(workspaceId, id)
    expect(message).toMatchObject({ status: 'failed', accepted: false, ...GONE })
    expect(message.credits_refunded).toBe(message.credits_used)
    expect(await refunds(workspaceId)).toEqual([3])
    expect((await bench.account(workspaceId)).balance - balance).toBe(3 * SMS_PRICE)
    // A late report changes nothing after the refund.
    await bench.callback(message, 'delivered')
    expect((await bench.message(workspaceId, id)).status).toBe('failed')
  })

  it('sends again only to a deferred recipient, and refunds once at the end', async () => {
    const workspaceId = await bench.workspace()
    const { id } = await queued(workspaceId)
    await send(
      await claim(),
      accepted(
        { address: TO, type: 'retry', ...LATER },
        { address: CC, type: 'rejected', ...GONE },
      ),
    )
    const waiting = await bench.message(workspaceId, id)
    expect(waiting).toMatchObject({ status: 'queued', accepted: true, credits_refunded: 0 })
    expect(statesOf(waiting)?.map(([, status]) => status)).toEqual(['queued', 'failed', 'sent'])
    expect(
      await bench.storage.hot.cancel({
        workspace_id: workspaceId,
        message_ids: [id],
        at: bench.clock.now(),
      }),
    ).not.toEqual(['canceled'])
    bench.clock.advance(600_000)
    const again = await claim()
    expect(again.recipients?.filter(({ status }) => status === 'queued')).toMatchObject([
      { address: TO },
    ])
    await send(again, { type: 'rejected', ...GONE })
    const message = await bench.message(workspaceId, id)
    expect(message).toMatchObject({ status: 'sent', credits_refunded: 2 * SMS_PRICE })
    expect(statesOf(message)?.map(([, status]) => status)).toEqual(['failed', 'failed', 'sent'])
    expect(await refunds(workspaceId)).toEqual([2])
  })

  it('refunds at the end what an attempt before it rejected', async () => {
    const workspaceId = await bench.workspace()
    const { id } = await queued(workspaceId)
    await send(await claim(), {
      type: 'retry',
      ...LATER,
      delay_ms: null,
      recipients: [{ address: CC, type: 'rejected', ...GONE }],
    })
    bench.clock.advance(600_000)
    await send(await claim(), accepted())
    expect(await bench.message(workspaceId, id)).toMatchObject({
      status: 'sent',
      credits_refunded: SMS_PRICE,
    })
    expect(await refunds(workspaceId)).toEqual([1])
  })

  /** The event, status, reason and failed recipients of each new delivery. */
  async function announced() {
    const claimed = await bench.claimDeliveries()
    return claimed.map(({ body }) => {
      const { event, data } = JSON.parse(body)
      return [event, data.status, data.error_code, data.failed_recipients ?? []]
    })
  }

  it('announces once the recipients that fail together, for each reason', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    const { id } = await queued(workspaceId)
    await send(await claim(), {
      type: 'retry',
      ...LATER,
      delay_ms: null,
      recipients: [
        { address: BCC, type: 'rejected', ...LATER },
        { address: CC, type: 'rejected', ...GONE },
      ],
    })
    expect(await announced()).toEqual([
      ['message.recipients_failed', 'queued', GONE.error_code, [CC]],
      ['message.recipients_failed', 'queued', LATER.error_code, [BCC]],
    ])
    const request = { workspace_id: workspaceId, message_ids: [id], at: bench.clock.now() }
    expect(await bench.storage.hot.cancel(request)).toEqual(['canceled'])
    expect(await announced()).toEqual([['message.failed', 'failed', 'canceled', [TO]]])
  })

  it('changes, announces and suppresses only the recipient that a bounce names; fails when all have', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    const row = await queued(workspaceId)
    await send(await claim(), accepted())
    const bounce = (...addresses: string[]) =>
      bench.settle(
        { workspace_id: workspaceId, message_id: row.id, token: null },
        {
          task: 'callback',
          receipts: [
            {
              status: 'failed',
              provider_message_id: null,
              error_code: 'bounced',
              error_message: 'Gone',
              suppress: 'bounce',
              recipients: [
                {
                  addresses,
                  status: 'failed',
                  error_code: 'bounced',
                  error_message: 'Gone',
                  suppress: 'bounce',
                },
              ],
            },
          ],
        },
      )
    expect(await announced()).toEqual([['message.sent', 'sent', null, []]])
    await bounce('stranger@example.com')
    expect(await announced()).toEqual([])
    await bounce('else@example.com', CC.toUpperCase())
    expect(await announced()).toEqual([['message.recipients_failed', 'sent', 'bounced', [CC]]])
    await bounce(CC)
    expect(await announced()).toEqual([])
    const one = await bench.message(workspaceId, row.id)
    expect(one.status).toBe('sent')
    expect(statesOf(one)?.map(([, status]) => status)).toEqual(['sent', 'failed', 'sent'])
    const suppressed = async () =>
      (await bench.storage.read.suppressions.of(workspaceId, [TO, CC, BCC, 'stranger@example.com']))
        .map(({ address }) => address)
        .sort()
    expect(await suppressed()).toEqual([CC])
    await bounce(TO)
    await bounce(BCC)
    await bounce(BCC)
    expect(await announced()).toEqual([
      ['message.recipients_failed', 'sent', 'bounced', [TO]],
      ['message.failed', 'failed', 'bounced', [BCC]],
    ])
    expect(await bench.message(workspaceId, row.id)).toMatchObject({
      status: 'failed',
      error_code: 'bounced',
      credits_refunded: 0,
    })
    expect(await refunds(workspaceId)).toEqual([])
  })

  it('suppresses no recipient for a complaint without an address', async () => {
    const workspaceId = await bench.workspace()
    const { id: message_id } = await queued(workspaceId)
    await send(await claim(), accepted())
    const about = { workspace_id: workspaceId, message_id, token: null }
    const complaint: Settlement['result'] = {
      task: 'callback',
      receipts: [],
      suppress: 'complaint',
    }
    await bench.settle(about, complaint)
    const { suppressions } = bench.storage.read
    expect(await suppressions.of(workspaceId, [TO, CC, BCC])).toEqual([])
    await bench.settle(about, { ...complaint, addresses: [BCC, 'stranger@example.com'] })
    expect(await suppressions.of(workspaceId, [TO, CC, BCC])).toMatchObject([{ address: BCC }])
  })

  it('refuses a suppressed cc or bcc, and changes nothing', async () => {
    const workspaceId = await bench.workspace()
    const before = await bench.account(workspaceId)
    await suppress(workspaceId, BCC)
    expect(await bench.accept(bench.make.send(workspaceId, MAIL))).toEqual({
      outcome: 'suppressed',
      recipients: [BCC],
    })
    expect(await bench.account(workspaceId)).toEqual(before)
  })

  it('leaves out a recipient that opted out while it waited', async () => {
    const workspaceId = await bench.workspace()
    await queued(workspaceId)
    await suppress(workspaceId, CC)
    bench.clock.advance(3_600_000)
    expect(await claim()).toMatchObject({ suppressed: false, left_out: [CC] })
  })

  it('is not sent when all opted out while it waited', async () => {
    const workspaceId = await bench.workspace()
    const { id } = await queued(workspaceId)
    for (const { address } of ALL) await suppress(workspaceId, address)
    bench.clock.advance(3_600_000)
    const claimed = await claim()
    expect(claimed).toMatchObject({ suppressed: true, left_out: [] })
    await bench.settle({ ...claimed, token: null }, { task: 'suppressed' })
    expect(await bench.message(workspaceId, id)).toMatchObject({
      status: 'failed',
      error_code: 'suppressed',
      credits_refunded: 3 * SMS_PRICE,
    })
  })

  it('keeps the price of an unknown outcome', async () => {
    const workspaceId = await bench.workspace()
    const { id } = await queued(workspaceId)
    await send(await claim(), { type: 'ambiguous', ...LATER })
    bench.clock.advance(11 * 60_000)
    const claimed = await claim()
    await bench.settle(claimed, { task: 'lookup', found: { type: 'unavailable' } })
    const message = await bench.message(workspaceId, id)
    expect(message).toMatchObject({ status: 'failed', error_code: 'outcome_unknown' })
    expect(await refunds(workspaceId)).toEqual([])
    // A later report of the delivery to one recipient corrects the failure.
    await bench.settle(
      { workspace_id: workspaceId, message_id: id, token: null },
      {
        task: 'callback',
        receipts: [
          {
            status: 'delivered',
            provider_message_id: null,
            error_code: null,
            error_message: null,
            recipients: [
              { addresses: [CC], status: 'delivered', error_code: null, error_message: null },
            ],
          },
        ],
      },
    )
    expect(await bench.message(workspaceId, id)).toMatchObject({ status: 'delivered' })
  })

  it('is found by cc and bcc, and erased with all addresses and tags', async () => {
    const workspaceId = await bench.workspace()
    const { id } = await queued(workspaceId)
    await send(await claim(), accepted({ address: CC, type: 'rejected', ...GONE }))
    const { erasure } = bench.storage.read
    const window = { after_id: '', last_id: id }
    for (const address of [TO, CC, BCC]) {
      const found = await erasure.messagesTo(workspaceId, { kind: 'email', address }, window)
      expect(found).toMatchObject([{ id, is_queued: false }])
    }
    await bench.storage.write(({ erasure }) =>
      erasure.messages(workspaceId, [id], bench.clock.now()),
    )
    const message = await bench.message(workspaceId, id)
    expect(message).toMatchObject({ recipient: 'erased', tags: null, content: {} })
    expect(message.recipients?.map(({ address, role, status }) => [address, role, status])).toEqual(
      [
        ['erased', 'to', 'sent'],
        ['erased', 'cc', 'failed'],
        ['erased', 'bcc', 'sent'],
      ],
    )
    expect(JSON.stringify(message)).not.toContain('No such recipient')
  })

  async function suppress(workspaceId: string, address: string): Promise<void> {
    const row = { workspace_id: workspaceId, channel: 'email', address, reason: 'opt_out' } as const
    const created_at = bench.clock.now()
    await bench.storage.write(({ suppressions }) => suppressions.add([{ ...row, created_at }]))
  }
}
