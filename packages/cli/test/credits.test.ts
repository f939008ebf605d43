import { createCore } from '@svc/core'
import { units } from '@svc/core/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newFolder, svc, svcJson } from './svc.ts'

const folder = newFolder()
const here = { cwd: folder.path, env: { SVC_SIGNUP_CREDITS: '10', SVC_LOW_BALANCE: '2' } }
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
const ONE_LINE = /^svc: [^\n]+\n$/

let workspaceId = ''

const credits = (...argv: string[]) => svc(['credits', ...argv], here)
const creditsJson = <T = Record<string, unknown>>(...argv: string[]) =>
  svcJson<T>(['credits', ...argv], here)

interface Booked {
  transaction: { reference: { id: string }; held: number }
  repeated: boolean
  credits_balance: number
}

interface History {
  transactions: { type: string; held_delta: number }[]
}

beforeAll(async () => {
  const argv = ['workspaces', 'create', '--name', 'Example', '--email', 'ops@example.com']
  const { stdout } = await svc([...argv, '--password-stdin', '--json'], {
    ...here,
    stdin: 'correct horse battery\n',
  })
  workspaceId = (JSON.parse(stdout) as { workspace: { id: string } }).workspace.id
})

afterAll(() => folder.remove())

describe('svc credits adjust', () => {
  test('books a correction, up and down, once for each id', async () => {
    const argv = ['adjust', '-2.5', '--reason', 'Granted twice', '--id', 'twice']
    const taken = await creditsJson<Booked>(...argv)
    expect(taken).toMatchObject({
      transaction: {
        type: 'adjustment',
        credits: -2.5,
        description: 'Granted twice',
        reference: { type: 'adjustment', id: 'twice' },
        actor: 'operator',
      },
      repeated: false,
      credits_balance: 7.5,
    })
    expect(await creditsJson(...argv)).toEqual({ ...taken, repeated: true })
    expect((await credits(...argv)).stdout).toBe(
      'twice was booked before (-2.5 credits); nothing was changed. ops@example.com has 7.5 credits available.\n',
    )
    const actor = ['--actor', 'asha']
    const { stdout } = await credits('adjust', '+2.5', '--reason', 'Not twice after all', ...actor)
    const id = /^Gave 2\.5 credits to ops@example\.com: 10 credits available\. Adjustment (.+)\.\n$/
    expect(id.exec(stdout)?.[1]).toEqual(uuid)
    const { transactions } = await creditsJson<History>('history', '--limit', '1')
    expect(transactions[0]).toMatchObject({ type: 'adjustment', actor: 'asha' })
    const argvWithoutName = ['adjust', '1', '--reason', 'x', '--actor', ' ']
    expect(await credits(...argvWithoutName)).toMatchObject({
      code: 2,
      stderr: 'svc: --actor must be a name\n',
    })
  })

  test('takes more than the available credits only with --force', async () => {
    const argv = ['adjust', '-10.5', '--reason', 'Fraud']
    expect(await credits(...argv)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('At most 10 credits can be taken'),
    })
    const { stdout } = await credits(...argv, '--force', '--id', 'fraud')
    expect(stdout).toBe(
      'Took 10.5 credits from ops@example.com: -0.5 credits available. Adjustment fraud.\n',
    )
    await credits('adjust', '10.5', '--reason', 'No fraud')
  })

  test.each([
    ['no reason', ['1'], 2],
    ['an empty reason', ['1', '--reason', ' '], 1],
    ['an amount of 0', ['0', '--reason', 'x'], 1],
    ['an invalid number', ['-ten', '--reason', 'x'], 2],
    ['a number with two signs', ['+-1', '--reason', 'x'], 2],
    ['another amount for the same id', ['1', '--reason', 'x', '--id', 'twice'], 1],
    ['an amount above the maximum', ['999999999', '--reason', 'x'], 1],
  ])('refuses %s in one line', async (_, argv, code) => {
    const refused = { code, stdout: '', stderr: expect.stringMatching(ONE_LINE) }
    expect(await credits('adjust', ...argv)).toMatchObject(refused)
  })
})

describe('svc credits terms', () => {
  test('sets the given limits and keeps the others', async () => {
    const set = await creditsJson('terms', '--credit-limit', '50', '--daily-limit', '100')
    expect(set).toEqual({
      workspace: { id: workspaceId, email: 'ops@example.com' },
      credits_balance: 10,
      credits_held: 0,
      credit_limit: 50,
      daily_limit: 100,
      spent_today: 0,
      low_balance: 2,
      low_balance_default: true,
      status: 'active',
      frozen_reason: null,
    })
    expect(await creditsJson('terms', '--low-balance', '7', '--daily-limit', 'none')).toEqual({
      ...set,
      daily_limit: null,
      low_balance: 7,
      low_balance_default: false,
    })
    const never = await credits('terms', '--low-balance', 'never', '--credit-limit', '0')
    expect(never.stdout).toMatch(/^low balance\tnever$/m)
    const again = await credits('terms', '--low-balance', 'default')
    expect(again.stdout).toMatch(/^low balance\t2 \(default\)$/m)
  })

  test.each([
    ['no limit', [], 2],
    ['an invalid limit', ['--daily-limit', 'much'], 2],
    ['a limit below 0', ['--credit-limit', '-1'], 1],
    ['another word', ['--low-balance', 'none'], 2],
  ])('refuses %s in one line', async (_, argv, code) => {
    const refused = { code, stdout: '', stderr: expect.stringMatching(ONE_LINE) }
    expect(await credits('terms', ...argv)).toMatchObject(refused)
  })
})

describe('in a shell without SVC_LOW_BALANCE', () => {
  const elsewhere = newFolder()
  const shell = { cwd: elsewhere.path, env: { SVC_SIGNUP_CREDITS: '10' } }
  const startServer = async () => {
    const database_url = `file:${elsewhere.path}/data/svc.db`
    const core = await createCore({ database_url, threads: 0, low_balance: '2' })
    await core.startDispatch()
    await core.close()
  }
  const low = async (...argv: string[]) => {
    const { low_balance, low_balance_default } = await svcJson<Record<string, unknown>>(
      ['credits', ...argv],
      shell,
    )
    return [low_balance, low_balance_default]
  }
  afterAll(() => elsewhere.remove())

  test('a new workspace uses the default of the server from its next start on', async () => {
    const argv = ['workspaces', 'create', '--name', 'X', '--email', 'x@example.com']
    await svc([...argv, '--password-stdin'], { ...shell, stdin: 'correct horse battery\n' })
    expect(await low('show')).toEqual([null, true])
    await startServer()
    expect(await low('show')).toEqual([2, true])
  })

  test('--low-balance default does the same', async () => {
    expect(await low('terms', '--low-balance', '7')).toEqual([7, false])
    expect(await low('terms', '--low-balance', 'default')).toEqual([7, true])
    await startServer()
    expect(await low('show')).toEqual([2, true])
  })
})

describe('svc credits freeze', () => {
  test('records the reason, and unfreeze reverses it', async () => {
    expect((await credits('freeze', '--yes', '--reason', 'Disputed\npayment')).stdout).toBe(
      'ops@example.com is frozen and cannot spend: svc credits unfreeze reverses it.\n',
    )
    const shown = await credits('show')
    expect(shown.stdout).toMatch(/^status\tfrozen: Disputed\\npayment$/m)
    expect((await credits('unfreeze')).stdout).toBe('ops@example.com may spend again.\n')
    expect(await creditsJson('show')).toMatchObject({ status: 'active', frozen_reason: null })
    expect(await creditsJson('freeze', '--yes', '--reason', 'x')).toMatchObject({
      frozen_reason: 'x',
    })
    expect(await creditsJson('unfreeze')).toMatchObject({ frozen_reason: null })
  })

  test('requires a reason', async () => {
    expect(await credits('freeze', '--yes')).toMatchObject({ code: 2 })
    expect(await credits('freeze', '--yes', '--reason', '')).toMatchObject({ code: 1 })
  })
})

describe('credits that expire', () => {
  test('a grant expires after the given duration, and show lists it until then', async () => {
    const before = Date.now()
    const { stdout } = await credits('grant', '5', '--expires', '30d', '--reason', 'Trial')
    const line =
      /^Gave 5 credits to ops@example\.com, which expire at (.+): 15 credits available\.\n$/
    const until_ms = Date.parse(line.exec(stdout)?.[1] ?? '')
    expect(until_ms - before).toBeGreaterThanOrEqual(30 * 86_400_000)
    expect(until_ms - before).toBeLessThan(30 * 86_400_000 + 60_000)
    expect(await creditsJson('show')).toMatchObject({
      credits_balance: 15,
      holds: [],
      lots: [
        {
          transaction_id: uuid,
          credits: 5,
          remaining: 5,
          expires_at: new Date(until_ms).toISOString(),
        },
      ],
    })
    expect((await credits('show')).stdout).toMatch(/^grant\t20[^\t]+Z\t5 of 5\tentry:[0-9a-f-]+$/m)
  })

  test.each([
    ['an invalid time', 'soon'],
    ['a past time', '2020-01-01'],
    ['a duration of 0', '0d'],
  ])('a grant cannot expire at %s', async (_, when) => {
    const refused = { code: 1, stdout: '', stderr: expect.stringMatching(ONE_LINE) }
    expect(await credits('grant', '5', '--expires', when)).toMatchObject(refused)
  })

  test('a hold is shown, and reduces the available credits', async () => {
    const core = await createCore({ database_url: `file:${folder.path}/data/svc.db`, threads: 0 })
    const hold = { n: 0, amount: units(4_000_000), channel: 'voice', quantity: 2, unit_price: null }
    const expires_at = new Date('2100-01-01T00:00:00Z')
    await core.credits.hold(workspaceId, { ...hold, message_id: 'call', expires_at })
    await core.close()

    expect(await creditsJson('show')).toMatchObject({
      credits_balance: 11,
      credits_held: 4,
      spent_today: 4,
      holds: [{ message_id: 'call', n: 0, credits: 4, expires_at: '2100-01-01T00:00:00.000Z' }],
    })
    const { stdout } = await credits('show')
    expect(stdout).toContain('\nhold\t2100-01-01T00:00:00.000Z\t4\tmessage:call\n')
    expect(stdout).toMatch(/^available\t11\nheld\t4\nbalance\t15$/m)
    const history = await credits('history', '--limit', '1')
    expect(history.stdout).toMatch(/^20[^\t]+\thold\t-\t\+4\t15\tmessage:call\t\n$/)
    expect((await creditsJson<History>('history')).transactions[0]).toMatchObject({
      type: 'hold',
      credits: -4,
      balance_after: 11,
      held_delta: 4,
      held_after: 4,
      created_at: time,
    })
  })
})
