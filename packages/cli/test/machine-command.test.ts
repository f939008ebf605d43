import { spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newFolder } from './svc.ts'

const shipped = (path: string) =>
  readFileSync(fileURLToPath(new URL(`../../../deploy/${path}`, import.meta.url)), 'utf8')

let folder: ReturnType<typeof newFolder>
beforeEach(() => {
  folder = newFolder()
})
afterEach(() => folder.remove())

/** Runs the shipped command with the user and paths of the test, and a program that prints its environment and arguments. */
function call(secrets: string | null, env: NodeJS.ProcessEnv = {}, user = userInfo().username) {
  const at = (name: string) => join(folder.path, name)
  const script = shipped('bin/svc')
    .replace('user=svc', `user=${user}`)
    .replace(/^program=.*/m, `program=${at('program')}`)
    .replace(/^secrets=.*/m, `secrets=${at('secrets.env')}`)
  writeFileSync(at('svc'), script)
  writeFileSync(at('program'), '#!/bin/sh\nenv\necho "ARGS=$*"\n')
  for (const name of ['svc', 'program']) chmodSync(at(name), 0o755)
  if (secrets !== null) writeFileSync(at('secrets.env'), secrets)
  const { PATH } = process.env
  const options = { env: { PATH, ...env }, encoding: 'utf8' } as const
  const { status, stdout, stderr } = spawnSync(at('svc'), ['send', '--text', 'a b'], options)
  return { status, stderr, lines: stdout.split('\n') }
}

describe('deploy/bin/svc', () => {
  it('sets the settings and secrets of the service, quoted or not, and passes its arguments', () => {
    const { status, lines } = call(
      '# note\n\nPLAIN=a=b&c$HOME\nSINGLE=\'x # y\'\nDOUBLE="two words"\n; note\nEMPTY=',
      { XDG_CONFIG_HOME: '/elsewhere' },
    )
    expect(status).toBe(0)
    for (const line of [
      ...['PLAIN=a=b&c$HOME', 'SINGLE=x # y', 'DOUBLE=two words', 'EMPTY='],
      ...['SVC_CONFIG=/etc/svc/svc.config.json', 'HOME=/var/lib/svc', 'ARGS=send --text a b'],
    ]) {
      expect(lines).toContain(line)
    }
    expect(lines.join()).not.toContain('XDG_CONFIG_HOME')
  })

  it('keeps the variables of the caller, and works without secrets', () => {
    expect(call('PORT=1', { PORT: '2' }).lines).toContain('PORT=2')
    expect(call(null, { SVC_CONFIG: '/other' }).lines).toContain('SVC_CONFIG=/other')
  })

  it.each([
    ['A=a\\b', /secrets\.env:1 holds a backslash/],
    ["\nA='a", /secrets\.env:2 holds a quote within/],
    ['A=it"s', /secrets\.env:1 holds a quote within/],
    ['no setting', /secrets\.env:1 must be NAME=value/],
    ['A-B=1', /secrets\.env:1 must be NAME=value/],
  ])('refuses a line that systemd may read in another way: %j', (secrets, line) => {
    const { status, stderr } = call(secrets)
    expect([status, stderr.trim().split('\n').length]).toEqual([2, 1])
    expect(stderr).toMatch(line)
    expect(stderr).not.toContain('a\\b')
  })
})

describe('the files in deploy', () => {
  it('use one program and one configuration in the unit and the command', () => {
    const unit = shipped('systemd/svc.service')
    const command = shipped('bin/svc')
    const program = /^program=(.*)$/m.exec(command)?.[1]
    const config = /^config=(.*)$/m.exec(command)?.[1]
    const secrets = /^secrets=(.*)$/m.exec(command)?.[1]
    expect(unit).toContain(`ExecStart=${program} serve\n`)
    expect(unit).toContain(`SVC_CONFIG=${config}\n`)
    expect(unit).toContain(`EnvironmentFile=-${secrets}\n`)
    expect(unit).toContain('User=svc\n')
  })

  it('use one address in nginx and the socket', () => {
    const address = /^ListenStream=(.*)$/m.exec(shipped('systemd/svc.socket'))?.[1]
    expect(shipped('nginx/svc.conf')).toContain(`server ${address} `)
  })

  it('give the unit a longer stop timeout than the service needs', () => {
    const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(shipped('systemd/svc.service'))?.[1])
    expect(seconds).toBeGreaterThan(10 + 25)
  })
})
