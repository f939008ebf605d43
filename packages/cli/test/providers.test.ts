import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newFolder, svc, svcJson } from './svc.ts'

const folder = newFolder()
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)

/** The requests to the gateway, and its next answer. */
const sent: Record<string, unknown>[] = []
let answer = { status: 200, body: '{"id":"G1"}' }

const gateway = createServer((request, response) => {
  let text = ''
  request.on('data', (chunk) => {
    text += chunk
  })
  request.on('end', () => {
    sent.push(JSON.parse(text))
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body)
  })
})

/** A port without a listener. */
let closedPort = 0
let here: { cwd: string; env: NodeJS.ProcessEnv }

const providers = (...argv: string[]) => svc(['providers', ...argv], here)
const providersJson = <T = Record<string, unknown>>(...argv: string[]) =>
  svcJson<T>(['providers', ...argv], here)

async function listening(server: {
  listen(port: number, host: string, then: () => void): unknown
}) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server as unknown as { address(): AddressInfo }).address().port
}

beforeAll(async () => {
  const port = await listening(gateway)
  const probe = createTcpServer()
  closedPort = await listening(probe)
  await new Promise((resolve) => probe.close(resolve))
  const list = [
    {
      type: 'http',
      name: 'gateway',
      channels: ['sms', 'email'],
      senders: { sms: ['+15005550006', '+15005550007'] },
      messages_per_second: 5,
      send: {
        url: `http://127.0.0.1:${port}/send`,
        body: { to: '{{to}}', from: '{{from}}', text: '{{text}}' },
      },
      answer: { id: '/id' },
    },
    {
      type: 'smpp',
      name: 'smsc',
      binds: [{ host: '127.0.0.1', port: closedPort, system_id: 'svc', password: 'canary' }],
    },
  ]
  here = { cwd: folder.path, env: { SVC_PROVIDERS: JSON.stringify(list) } }
  const argv = ['workspaces', 'create', '--name', 'Example', '--email', 'ops@example.com']
  await svc([...argv, '--password-stdin'], { ...here, stdin: 'correct horse battery\n' })
})

afterAll(async () => {
  gateway.closeAllConnections()
  await new Promise((resolve) => gateway.close(resolve))
  folder.remove()
})

describe('svc providers status', () => {
  test('shows the providers in their order', async () => {
    const { stdout } = await providers('status')
    expect(stdout.split('\n')).toEqual([
      'gateway\thttp\tsms,email\tsms +15005550006, sms +15005550007\t5/s\tactive',
      'smsc\tsmpp\tsms\tany\tany\tactive',
      '',
    ])
    expect(await providersJson('status')).toEqual({
      providers: [
        {
          name: 'gateway',
          type: 'http',
          channels: ['sms', 'email'],
          senders: { sms: ['+15005550006', '+15005550007'] },
          messages_per_second: 5,
          pauses: [],
        },
        expect.objectContaining({ name: 'smsc', pauses: [] }),
      ],
    })
  })

  test('reports that the sandbox serves all channels without a provider', async () => {
    const { code, stdout, stderr } = await svc(['providers', 'status'], { cwd: folder.path })
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toContain('the sandbox serves every channel')
    expect(stderr).toContain('set its variables in this shell')
  })
})

describe('svc providers pause and resume', () => {
  test('pauses a provider, shows the reason, and resumes it', async () => {
    const paused = await providers('pause', 'gateway', '--reason', 'Maintenance')
    expect(paused).toMatchObject({
      code: 0,
      stdout: 'gateway is paused: svc providers resume gateway ends the pause.\n',
    })
    expect((await providers('status')).stdout).toMatch(
      /^gateway\t.*\tpaused by operator since 20[\dT:.-]+Z: Maintenance$/m,
    )
    expect((await providers('resume', 'gateway')).stdout).toContain('is active again')
    expect((await providers('resume', 'gateway')).stdout).toContain('was not paused')
    expect((await providers('status')).stdout).not.toContain('paused')
  })

  test('pauses one sender, and keeps that pause when the provider is resumed', async () => {
    const sender = ['--sender', '+15005550007']
    await providers('pause', 'gateway', ...sender, '--reason', 'Moving')
    const { stdout } = await providers('status')
    expect(stdout).toMatch(/^gateway\t.*\tactive$/m)
    expect(stdout).toMatch(/^gateway\thttp\t\t\+15005550007\t\tpaused by operator .*: Moving$/m)
    const status = await providersJson<{ providers: { pauses: object[] }[] }>('status')
    expect(status.providers[0]?.pauses).toEqual([
      {
        sender: '+15005550007',
        cause: 'operator',
        code: null,
        reason: 'Moving',
        retry_at: null,
        created_at: time,
      },
    ])
    expect((await providers('resume', 'gateway')).stderr).toBe('Still paused: +15005550007\n')
    expect(await providersJson('resume', 'gateway', ...sender)).toEqual({
      name: 'gateway',
      sender: '+15005550007',
      paused: false,
      was_paused: true,
    })
  })

  test.each([
    ['pause', ['pause', 'gatway', '--reason', 'x']],
    ['resume', ['resume', 'gatway']],
    ['test', ['test', 'gatway']],
  ])('%s names those there are for one that is not', async (_, argv) => {
    expect(await providers(...argv)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'svc: There is no provider gatway; there are: gateway, smsc\n',
    })
  })

  test('names the known senders for an unknown one', async () => {
    const argv = ['pause', 'gateway', '--sender', '+1', '--reason', 'x']
    expect(await providers(...argv)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('+15005550006, +15005550007'),
    })
  })
})

describe('svc providers test', () => {
  test('reports the fault without the password, and exits with 1', async () => {
    const { code, stdout, stderr } = await providers('test', 'smsc')
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(`smsc is not ready: svc@127.0.0.1:${closedPort}: `)
    expect(stderr).not.toContain('canary')
  })

  test('reports a provider without a harmless request', async () => {
    expect((await providers('test', 'gateway')).stdout).toContain('send a message through it')
    expect(await providersJson('test', 'gateway')).toEqual({ name: 'gateway', ok: null })
  })

  test('sends a real message without a record, also while the provider is paused', async () => {
    await providers('pause', 'gateway', '--reason', 'Trying')
    const argv = ['test', 'gateway', '--to', '+14155552671', '--text', 'Can you read this?']
    const { code, stdout } = await providers(...argv, '--yes')
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'gateway accepted the message as G1.\n' })
    expect(sent.splice(0)).toEqual([
      { to: '+14155552671', from: '+15005550006', text: 'Can you read this?' },
    ])
    await providers('resume', 'gateway')
    const history = await svcJson<{ transactions: object[] }>(['credits', 'history'], here)
    expect(history.transactions).toEqual([])
  })

  test('asks before it sends a message', async () => {
    const { code, stderr } = await providers('test', 'gateway', '--to', '+14155552671')
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'svc: stdin is not a terminal: add --yes\n',
    })
    expect(sent).toEqual([])
  })

  test('reports a refusal of the provider', async () => {
    answer = { status: 400, body: '{}' }
    const { code, stderr } = await providers('test', 'gateway', '--to', '+14155552671', '--yes')
    expect(code).toBe(1)
    expect(stderr).toMatch(/^svc: gateway rejected the message \(.+\): .+\n$/)
    answer = { status: 200, body: '{"id":"G1"}' }
    sent.length = 0
  })

  test.each([
    ['an invalid recipient', ['--to', '12'], 1],
    ['a channel that it does not serve', ['--to', '+14155552671', '--channel', 'voice'], 1],
    ['an unknown sender', ['--to', '+14155552671', '--from', '+1500555'], 1],
    ['a text without a recipient', ['--text', 'Hello'], 2],
  ])('refuses %s, and sends nothing', async (_, argv, code) => {
    const ended = await providers('test', 'gateway', ...argv, '--yes')
    expect(ended).toMatchObject({
      code,
      stdout: '',
      stderr: expect.stringMatching(/^svc: [^\n]+\n$/),
    })
    expect(sent).toEqual([])
  })
})
