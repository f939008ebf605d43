import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sign } from '@svc/core/webhooks'
import { afterAll, describe, expect, test } from 'vitest'
import { newFolder, svc, svcJson } from './svc.ts'

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo='
const body = '{"event":"message.delivered","data":{"message_id":"1"}}'
const folder = newFolder()
const cwd = folder.path

function headersAt(at: Date): Record<string, string> {
  const ids = { event_id: 'evt_1', delivery_id: 'dlv_1', attempt: 1 }
  return sign({ secret, body, event: 'message.delivered', at, ...ids })
}

const headers = headersAt(new Date())
const signature = headers['X-Svc-Signature'] as string
const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
writeFileSync(join(cwd, 'body.json'), body)
writeFileSync(
  join(cwd, 'headers.txt'),
  `POST / HTTP/1.1\r\nHost: x\r\n${lines.join('\r\n')}\r\n\r\n`,
)
writeFileSync(join(cwd, 'headers.json'), JSON.stringify(headers))

afterAll(() => folder.remove())

describe('svc webhooks verify accepts', () => {
  test.each([
    ['headers of a proxy', ['--headers', 'headers.txt']],
    ['headers as JSON', ['--headers', 'headers.json']],
    ['headers one by one', lines.flatMap((line) => ['-H', line])],
  ])('%s', async (_, options) => {
    const argv = ['webhooks', 'verify', '--secret', secret, '--body', '@body.json', ...options]
    const { code, stdout, stderr } = await svc(argv, { cwd })
    expect(stderr).toBe('')
    expect(stdout).toMatch(/^✓ verified message\.delivered by webhook-signature of \d{4}-/)
    expect(code).toBe(0)
  })

  test('a bare signature and the body on stdin, byte for byte', async () => {
    const argv = ['webhooks', 'verify', '--signature', signature]
    const env = { SVC_WEBHOOK_SECRET: secret }
    expect(await svc(argv, { stdin: body, env })).toEqual({
      code: 0,
      stdout: '✓ verified message.delivered by X-Svc-Signature\n',
      stderr: '',
    })
  })

  test('headers, and prints JSON', async () => {
    const argv = [
      'webhooks',
      'verify',
      '--secret',
      secret,
      '--headers',
      'headers.txt',
      '--body',
      body,
    ]
    expect(await svcJson(argv, { cwd })).toEqual({
      verified: true,
      scheme: 'standard',
      event: 'message.delivered',
      event_id: 'evt_1',
      timestamp: new Date(Number(headers['webhook-timestamp']) * 1000).toISOString(),
    })
  })

  test('an old delivery only with --any-age', async () => {
    const old = Object.entries(headersAt(new Date(Date.now() - 3_600_000)))
    const options = old.flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    const argv = ['webhooks', 'verify', '--secret', secret, '--body', body, ...options]
    const refused = await svc(argv)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('timestamp_too_old')
    expect((await svc([...argv, '--any-age'])).code).toBe(0)
  })
})

describe('svc webhooks verify refuses', () => {
  test('another body, with the reason in one line', async () => {
    const argv = [
      'webhooks',
      'verify',
      '--secret',
      secret,
      '--signature',
      signature,
      '--body',
      `${body} `,
    ]
    expect(await svc(argv)).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'svc: not verified (signature_mismatch): White space was added to the end of the body.\n',
    })
  })

  test('another secret, with the reason as JSON on stderr', async () => {
    const argv = [
      'webhooks',
      'verify',
      '--json',
      '--secret',
      'whsec_dGVzdA==',
      '--signature',
      signature,
    ]
    const { code, stdout, stderr } = await svc(argv, { stdin: body })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(JSON.parse(stderr)).toEqual({
      error: 'signature_mismatch',
      message: expect.stringContaining('not verified (signature_mismatch)'),
    })
  })

  test.each([
    ['no secret', ['--signature', signature], /give the secret with --secret/],
    ['no signature', ['--secret', secret], /give the headers with --headers or -H/],
    [
      'no file',
      ['--secret', secret, '--headers', 'none'],
      /cannot read none: there is no such file/,
    ],
    ['no header', ['--secret', secret, '-H', 'nonsense'], /a header must be "name: value"/],
  ])('with exit code 2: %s', async (_, options, text) => {
    const { code, stderr } = await svc(['webhooks', 'verify', ...options], { stdin: body, cwd })
    expect(code).toBe(2)
    expect(stderr).toMatch(text)
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })
})
