import { describe, expect, it } from 'vitest'
import { createSuppressions } from '../../src/contacts/suppressions.ts'
import type { SuppressionRow } from '../../src/rows/rows.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import type { SuppressionFilter } from '../../src/storage/ports/stores.ts'
import { benchFor, EVERYTHING, type OpenStorage, only } from './bench.ts'

/** Suppressions: one for each channel and address, the first that came. */
export function suppressionsContract(open: OpenStorage): void {
  const bench = benchFor(open)

  async function add(
    workspaceId: string,
    channel: SuppressionRow['channel'],
    address: string,
    reason: SuppressionRow['reason'] = 'manual',
  ): Promise<SuppressionRow> {
    const created_at = bench.clock.advance(1_000)
    const row = { workspace_id: workspaceId, channel, address, reason, created_at }
    await bench.storage.write(({ suppressions }) => suppressions.add([row]))
    return row
  }

  it('keeps the first of a channel and address', async () => {
    const workspaceId = await bench.workspace()
    const first = await add(workspaceId, 'sms', '+255700000001', 'bounce')
    await add(workspaceId, 'sms', '+255700000001', 'opt_out')
    const other = await add(workspaceId, 'voice', '+255700000001', 'opt_out')
    const { suppressions } = bench.storage.read
    expect(await suppressions.of(workspaceId, ['+255700000001'])).toEqual([first, other])
    expect(await suppressions.of(workspaceId, [])).toEqual([])
  })

  it('adds as many at once as there are, those among them that stand already too', async () => {
    const workspaceId = await bench.workspace()
    const known = await add(workspaceId, 'email', 'a7@x.example', 'bounce')
    const rows = Array.from({ length: 99 }, (_, i) => ({ ...known, address: `a${i}@x.example` }))
    await bench.storage.write(({ suppressions }) => suppressions.add(rows))
    expect(await bench.storage.read.suppressions.count(workspaceId, {})).toBe(99)
  })

  it('removes one, or one of that reason only', async () => {
    const workspaceId = await bench.workspace()
    const stranger = await bench.workspace()
    const one = await add(workspaceId, 'sms', '+255700000001', 'bounce')
    const voice = await add(workspaceId, 'voice', '+255700000001', 'opt_out')
    const remove = (asker: string, reason?: SuppressionRow['reason']) =>
      bench.storage.write(({ suppressions }) =>
        suppressions.remove(asker, { channel: 'sms', address: one.address, reason }),
      )
    expect(await remove(stranger)).toBe(false)
    expect(await remove(workspaceId, 'opt_out')).toBe(false)
    expect(await remove(workspaceId, 'bounce')).toBe(true)
    expect(await remove(workspaceId)).toBe(false)
    expect(await bench.storage.read.suppressions.of(workspaceId, [one.address])).toEqual([voice])
  })

  describe('of a number that WhatsApp knows in two forms', () => {
    const FORMS = ['+525512345678', '+5215512345678'] as const
    const OTHER = '+19995550100'
    const suppressions = () =>
      createSuppressions({
        storage: bench.storage,
        runtime: { ...systemRuntime(), ...bench.clock },
      })
    const standing = async (workspaceId: string) =>
      (await bench.storage.read.suppressions.list(workspaceId, {}, EVERYTHING))
        .map(({ channel, address }) => `${channel} ${address}`)
        .sort()
    const both = FORMS.map((form) => `whatsapp ${form}`).sort()

    it.each(FORMS)('holds for both forms when %s is added, and ends for both', async (address) => {
      const workspaceId = await bench.workspace()
      const one = { channel: 'whatsapp', address } as const
      await add(workspaceId, 'whatsapp', address)
      await add(workspaceId, 'sms', address)
      expect(await standing(workspaceId)).toEqual([`sms ${address}`, ...both])
      const remove = () => bench.storage.write((s) => s.suppressions.remove(workspaceId, one))
      expect(await remove()).toBe(true)
      expect(await standing(workspaceId)).toEqual([`sms ${address}`])
      expect(await remove()).toBe(false)
    })

    it('holds for both forms when a provider reports that the person opted out', async () => {
      const workspaceId = await bench.workspace()
      await bench.queued(workspaceId, { channel: 'whatsapp', recipient: FORMS[0] })
      const outcome = {
        ...{ type: 'rejected', error_code: 'recipient_opted_out', error_message: 'x' },
        ...{ permanent: true, suppress: 'opt_out' },
      } as never
      const result = { task: 'send', attempt: 1, outcome, sender: null } as const
      await bench.settle(only(await bench.claimMessages()), result)
      expect(await standing(workspaceId)).toEqual(both)
    })

    it.each([FORMS[0], FORMS[1], OTHER])(
      'holds for all names of the person, and ends for all, by %s',
      async (address) => {
        const [workspaceId, stranger] = [await bench.workspace(), await bench.workspace()]
        const wrote = (workspace_id: string, other_number: string) => ({
          ...{ workspace_id, channel: 'whatsapp' as const, sender: '+15005550006' },
          ...{ address: FORMS[0], other_number, user_id: null, last_sent_at: bench.clock.now() },
        })
        await bench.storage.write(({ conversations }) =>
          conversations.note([wrote(workspaceId, OTHER), wrote(stranger, '+19995550199')]),
        )
        const one = { channel: 'whatsapp', address } as const
        expect(await suppressions().add(workspaceId, { ...one, reason: 'manual' })).toMatchObject(
          one,
        )
        expect(await standing(workspaceId)).toEqual([`whatsapp ${OTHER}`, ...both].sort())
        expect(await standing(stranger)).toEqual([])
        await suppressions().remove(workspaceId, one)
        expect(await standing(workspaceId)).toEqual([])
      },
    )
  })

  it('lists newest first, by channel, reason and a part of the address', async () => {
    const workspaceId = await bench.workspace()
    await add(workspaceId, 'sms', '+255700000001')
    await add(workspaceId, 'email', 'a_b@x.example', 'bounce')
    await add(workspaceId, 'email', 'axb@x.example', 'complaint')
    const { suppressions } = bench.storage.read
    const listed = async (filter: SuppressionFilter) => {
      const rows = await suppressions.list(workspaceId, filter, EVERYTHING)
      expect(await suppressions.count(workspaceId, filter)).toBe(rows.length)
      return rows.map(({ address }) => address)
    }
    expect(await listed({})).toEqual(['axb@x.example', 'a_b@x.example', '+255700000001'])
    expect(await listed({ channel: 'email', reason: 'bounce' })).toEqual(['a_b@x.example'])
    expect(await listed({ search: 'a_b' })).toEqual(['a_b@x.example'])
    expect(await listed({ channel: 'sms', search: 'x.example' })).toEqual([])
    const page = await suppressions.list(workspaceId, {}, { limit: 1, offset: 1 })
    expect(page.map(({ address }) => address)).toEqual(['a_b@x.example'])
  })
}
