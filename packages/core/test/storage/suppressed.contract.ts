import { expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import type { Channel } from '../../src/contract/resources/messages.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { benchFor, EVERYTHING, type OpenStorage } from './bench.ts'

const ACCEPTED = { outcome: 'accepted' }
const PHONE = '+255700000001'

/** A suppressed recipient gets no message, and the request is not charged. */
export function suppressedContract(open: OpenStorage): void {
  const bench = benchFor(open)

  async function suppress(workspaceId: string, channel: Channel, address: string): Promise<void> {
    const at = { reason: 'opt_out', created_at: bench.clock.now() } as const
    await bench.storage.write(({ suppressions }) =>
      suppressions.add([{ workspace_id: workspaceId, channel, address, ...at }]),
    )
  }

  it('refuses a suppressed recipient and changes nothing', async () => {
    const workspaceId = await bench.workspace()
    await suppress(workspaceId, 'sms', PHONE)
    const before = await bench.account(workspaceId)
    const answer = { route: 'send', key: 'k', request_hash: 'h', response: '{}' }
    const request = bench.make.send(workspaceId, { recipient: PHONE }, answer)
    expect(await bench.accept(request)).toEqual({ outcome: 'suppressed', recipients: [PHONE] })
    expect(await bench.account(workspaceId)).toEqual(before)
    const { messages } = bench.storage.read
    expect(await messages.list(workspaceId, {}, EVERYTHING)).toEqual([])
    expect(await messages.count(workspaceId, {})).toBe(0)
    expect(await bench.claimMessages()).toEqual([])

    // A refusal is not an answer to be repeated: later the same request may do.
    await bench.storage.write(({ suppressions }) =>
      suppressions.remove(workspaceId, { channel: 'sms', address: PHONE }),
    )
    expect(await bench.accept(request)).toEqual(ACCEPTED)
  })

  it('refuses it without credits, too', async () => {
    const workspaceId = await bench.workspace(0)
    await suppress(workspaceId, 'sms', PHONE)
    const refused = { outcome: 'suppressed', recipients: [PHONE] }
    expect(await bench.accept(bench.make.send(workspaceId, { recipient: PHONE }))).toEqual(refused)
  })

  it('does not affect test messages: they are accepted, sent late, and suppress no recipient', async () => {
    const workspaceId = await bench.workspace()
    await suppress(workspaceId, 'sms', PHONE)
    const test = { credits_used: units(0), livemode: false, recipient: PHONE }
    const [accepted, refused] = await bench.storage.hot.accept([
      bench.make.send(workspaceId, test),
      bench.make.send(workspaceId, { recipient: PHONE }),
    ])
    expect(accepted).toEqual(ACCEPTED)
    expect(refused).toMatchObject({ outcome: 'suppressed' })
    const other = '+255700000002'
    await bench.queued(workspaceId, { ...test, recipient: other })
    bench.clock.advance(3_600_000)
    const claimed = await bench.claimMessages()
    expect(claimed.map(({ suppressed }) => suppressed)).toEqual([false, false])
    const outcome = { type: 'rejected', error_code: 'opted_out', error_message: 'no' } as const
    for (const message of claimed) {
      const rejected = { ...outcome, suppress: 'opt_out' } as const
      await bench.settle(message, { task: 'send', attempt: 1, outcome: rejected })
    }
    const { suppressions } = bench.storage.read
    expect(await suppressions.of(workspaceId, [other])).toEqual([])
    expect(await suppressions.of(workspaceId, [PHONE])).toHaveLength(1)
  })

  it('knows an e-mail address whatever its case, and names it as it was written', async () => {
    const workspaceId = await bench.workspace()
    await suppress(workspaceId, 'email', 'asha@example.com')
    const email = { channel: 'email', recipient: 'Asha@Example.COM' } as const
    expect(await bench.accept(bench.make.send(workspaceId, email))).toEqual({
      outcome: 'suppressed',
      recipients: ['Asha@Example.COM'],
    })
  })

  it('keeps channels and workspaces apart', async () => {
    const [workspaceId, other] = [await bench.workspace(), await bench.workspace()]
    await suppress(workspaceId, 'whatsapp', PHONE)
    await suppress(other, 'sms', PHONE)
    const send = (overrides: object) => bench.accept(bench.make.send(workspaceId, overrides))
    expect(await send({ recipient: PHONE })).toEqual(ACCEPTED)
    expect(await send({ recipient: PHONE, channel: 'whatsapp' })).toMatchObject({
      outcome: 'suppressed',
    })
  })

  it('refuses a whole bulk and names each of them once, however many others share the batch', async () => {
    const workspaceId = await bench.workspace()
    await suppress(workspaceId, 'sms', PHONE)
    await suppress(workspaceId, 'sms', '+255700000002')
    const to = (...recipients: string[]) =>
      bench.make.request(
        recipients.map((recipient) => bench.make.message(workspaceId, { recipient })),
      )
    const results = await bench.storage.hot.accept([
      to('+255700000003'),
      to('+255700000002', '+255700000003', PHONE, '+255700000002'),
      to('+255700000004', '+255700000003'),
    ])
    expect(results).toEqual([
      ACCEPTED,
      { outcome: 'suppressed', recipients: ['+255700000002', PHONE] },
      ACCEPTED,
    ])
    expect(await bench.account(workspaceId)).toMatchObject({ balance: 97 * SMS_PRICE })
  })

  it('repeats an answer that was given before the recipient was suppressed', async () => {
    const workspaceId = await bench.workspace()
    const answer = { route: 'send', key: 'k', request_hash: 'h', response: '{"a":1}' }
    const request = bench.make.send(workspaceId, { recipient: PHONE }, answer)
    expect(await bench.accept(request)).toEqual(ACCEPTED)
    await suppress(workspaceId, 'sms', PHONE)
    expect(await bench.accept(request)).toEqual({ outcome: 'replayed', response: '{"a":1}' })
  })
}
