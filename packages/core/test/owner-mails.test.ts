import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { units } from '../src/contract/fields/units.ts'
import type { Mail } from '../src/contract/outside/mail.ts'
import { createCore } from '../src/core.ts'
import { createOutbox, type Outbox } from '../src/mail/outbox.ts'
import { createSecondFactors } from '../src/second-factor/second-factor.ts'
import { openStorage } from '../src/storage/open.ts'
import type { Storage } from '../src/storage/ports/storage.ts'
import { LOGIN_FACTORS } from '../src/workspaces/login-factors.ts'
import { createOwnerMails } from '../src/workspaces/owner-mails.ts'
import { createPasswords } from '../src/workspaces/password.ts'
import { createWorkspaces, type Workspaces } from '../src/workspaces/workspaces.ts'
import { testRuntime } from './fixtures.ts'
import { migratedFolder } from './migrated-file.ts'

/** What a stranger can find out about an address by watching what work its requests make: nothing. */

let folder: string
let storage: Storage
let outbox: Outbox
let workspaces: Workspaces<'decoded'>
/** What was done in the path of the requests: look-ups, writes, hashes, and mails promised. */
let work: string[]
let mails: Mail[]
let isOutdated: boolean | Error = false
/** The mail server takes a mail when this resolves. */
let accepted: Promise<void> = Promise.resolve()
const passwords = createPasswords()

beforeEach(async () => {
  folder = await migratedFolder('svc-mails-')
  const runtime = testRuntime('owner mails')
  storage = await openStorage(`file:${join(folder, 'svc.db')}`, runtime)
  mails = []
  work = []
  isOutdated = false
  outbox = createOutbox({
    log: runtime.log,
    mailer: {
      async send(mail) {
        await accepted
        mails.push(mail)
      },
    },
  })
  const watched: Storage = {
    ...storage,
    read: {
      ...storage.read,
      workspaces: {
        ...storage.read.workspaces,
        byEmail: (email) => note('look-up', storage.read.workspaces.byEmail(email)),
      },
    },
    write: (change) => note('write', storage.write(change)),
  }
  workspaces = createWorkspaces({
    noteRefused: async () => {},
    storage: watched,
    runtime,
    signupCredits: units(0),
    async endSigning() {},
    factors: createSecondFactors({
      ...{ storage, runtime, place: LOGIN_FACTORS },
      secret: async () => '',
    }),
    passwords: {
      ...passwords,
      hash: (password) => note('hash', passwords.hash(password)),
      verify: (hash, password) => note('verify', passwords.verify(hash, password)),
      async isOutdated(hash) {
        if (isOutdated instanceof Error) throw isOutdated
        return isOutdated || passwords.isOutdated(hash)
      },
    },
    mails: createOwnerMails({
      storage: watched,
      runtime,
      public_url: () => 'https://svc.example/base',
      console_url: null,
      brand: 'svc',
      outbox: { ...outbox, add: (...mail) => note('mail', outbox.add(...mail)) },
    }),
  })
  await workspaces.signup(request)
  await outbox.idle()
  mails = []
})

afterEach(async () => {
  await outbox.close(1_000)
  await storage.close()
  rmSync(folder, { recursive: true })
})

function note<T>(what: string, result: T): T {
  work.push(what)
  return result
}

const request = {
  email: 'Asha@Bücher.example',
  password: 'correct horse',
  company_name: 'Example Ltd',
}
const UNKNOWN = 'nobody@example.com'

/** What an answer waits for. */
async function workOf(makeRequest: () => unknown): Promise<string[]> {
  work = []
  await makeRequest()
  const inPath = [...work]
  await outbox.idle()
  return inPath
}

describe('the same work is done for a known and for an unknown address', () => {
  it('on login with a wrong password: one look-up and one hash', async () => {
    const login = (email: string) => () =>
      workspaces.login({ email, password: 'wrong one' }).catch(({ message }) => message)
    expect(await workOf(login(request.email))).toEqual(['look-up', 'verify'])
    expect(await workOf(login(UNKNOWN))).toEqual(['look-up', 'verify'])
  })

  it.each(['forgotPassword', 'resendVerification'] as const)(
    'on %s: none but to note the wish; everything else is done behind the answer',
    async (verb) => {
      expect(await workOf(() => workspaces[verb]({ email: request.email }))).toEqual(['mail'])
      expect(await workOf(() => workspaces[verb]({ email: UNKNOWN }))).toEqual(['mail'])
      expect(mails).toHaveLength(1)
    },
  )

  it.each(['forgotPassword', 'resendVerification'] as const)(
    'on %s when too many mails wait: the same refusal',
    async (verb) => {
      await outbox.close(1_000)
      for (const email of [request.email, UNKNOWN]) {
        expect(() => workspaces[verb]({ email })).toThrow(
          expect.objectContaining({ code: 'rate_limit_exceeded', retry_after_s: 5 }),
        )
      }
    },
  )
})

describe('requested more often than mails are sent to one address', () => {
  it.each(['forgotPassword', 'resendVerification'] as const)(
    '%s answers alike for a known and for an unknown address',
    async (verb) => {
      let release = () => {}
      accepted = new Promise((resolve) => {
        release = resolve
      })
      try {
        for (const email of [UNKNOWN, request.email]) {
          for (let i = 0; i < 7; i++) {
            workspaces[verb]({ email })
            // Mails to an unknown address end at once; those to a known one wait for the mail server.
            await new Promise((resolve) => setTimeout(resolve, 5))
          }
        }
      } finally {
        release()
      }
      await outbox.idle()
      expect(mails).toHaveLength(5)
    },
  )
})

describe('a mail to an owner', () => {
  it('goes to the address as mail servers know it, with a link under the public URL', async () => {
    workspaces.forgotPassword({ email: request.email.toLowerCase() })
    await outbox.idle()
    expect(mails[0]?.to).toBe('Asha@xn--bcher-kva.example')
    expect(mails[0]?.link).toMatch(
      /^https:\/\/svc\.example\/base\/reset-password\?token=[\w-]{43}$/,
    )
  })
})

describe('a reset with a token that is none', () => {
  it('costs no hash', async () => {
    const reset = () => workspaces.resetPassword({ token: 'none', password: 'long enough' })
    expect(await workOf(() => expect(reset()).rejects.toThrow('Invalid or expired'))).toEqual([])
  })
})

describe('a login', () => {
  const login = () => workspaces.login(request)

  it('hashes the password anew once the parameters have changed, and goes on working', async () => {
    const { id } = (await login()).workspace
    const hash = async () => (await storage.read.workspaces.byId(id))?.password_hash
    const before = await hash()
    expect(await workOf(login)).toEqual(['look-up', 'verify', 'write'])
    expect(await hash()).toBe(before)
    isOutdated = true
    expect(await workOf(login)).toEqual(['look-up', 'verify', 'hash', 'write', 'write'])
    expect(await hash()).not.toBe(before)
    isOutdated = false
    expect((await login()).token_version).toBe(1)
  })

  it('succeeds though the password cannot be hashed anew', async () => {
    isOutdated = new Error('no memory')
    expect((await login()).workspace.name).toBe('Example Ltd')
  })

  it('knows a hash of other parameters', async () => {
    const current = await passwords.hash('a password')
    expect(await passwords.isOutdated(current)).toBe(false)
    expect(await passwords.isOutdated(current.replace('t=2', 't=1'))).toBe(true)
  })
})

it('a mail server gets no mail to a reserved domain, such as that of the demo workspace', async () => {
  const reached: string[] = []
  const server = createServer((socket) => {
    reached.push('connection')
    socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const url = `smtp://127.0.0.1:${port}`
  const core = await createCore({
    database_url: `file:${join(folder, 'demo.db')}`,
    providers: [{ type: 'smtp', name: 'smtp', url, mail_domain: 'mail.svc.example' }],
    threads: 0,
  })
  const password = 'correct horse battery'
  await core.workspaces.signup({ email: 'demo@sandbox.svc', password, company_name: 'Demo' })
  await core.mails.idle()
  expect(reached).toEqual([])
  expect(core.mails.list().map(({ to }) => to)).toEqual(['demo@sandbox.svc'])
  await core.close()
  server.close()
})
