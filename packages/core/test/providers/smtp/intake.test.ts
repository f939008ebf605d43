import { once } from 'node:events'
import { createServer } from 'node:net'
import { createTransport } from 'nodemailer'
import { afterEach, describe, expect, it } from 'vitest'
import { messageToken } from '../../../src/contract/signing/mail-address-token.ts'
import { INTAKE_LIMITS, type IntakeLimits } from '../../../src/providers/smtp/intake.ts'
import { AWAY, feedbackReport, postfixReport } from './intake-mails.ts'
import {
  BOUNCE_DOMAIN,
  bounceAddress,
  createSink,
  newRef,
  openIntake,
  SECRET,
  talkTo,
} from './intake-stage.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function open(limits: Partial<IntakeLimits> = {}, more: { max_bytes?: number } = {}) {
  const sink = createSink()
  const intake = await openIntake(sink, { ...INTAKE_LIMITS, ...limits }, more)
  ends.push(() => intake.close(0))
  const talk = async () => {
    const talking = await talkTo(intake.port)
    ends.push(talking.end)
    return talking
  }
  return { sink, intake, talk }
}

/** A promise that is kept when it is told to. */
function gate() {
  let open = () => {}
  const passed = new Promise<void>((resolve) => {
    open = resolve
  })
  return { passed, open: () => open() }
}

const COMPLAINTS = `fbl@${BOUNCE_DOMAIN}`

describe('the mail intake', () => {
  it('takes a report for the message whose token is in the address, in any case', async () => {
    const { sink, intake, talk } = await open()
    const about = newRef()
    const { mail } = await talk()
    expect(await mail([bounceAddress(about).toUpperCase()], postfixReport())).toMatch(/^250 /)
    expect(sink.reports).toMatchObject([{ type: 'receipt', about, receipt: { status: 'failed' } }])
    expect(intake.states()).toEqual([
      {
        name: `127.0.0.1:${intake.port}`,
        state: 'up',
        detail: '1 reports taken, 0 mails dropped, 0 addresses refused',
      },
    ])
  })

  it('takes several mails on one connection, and a complaint from a sender with a name', async () => {
    const { sink, talk } = await open()
    const [first, second] = [newRef(), newRef()]
    const { mail } = await talk()
    await mail([bounceAddress(first)], postfixReport({ action: 'delayed' }))
    await mail([bounceAddress(second)], feedbackReport(), 'fbl@mailbox.example')
    expect(sink.reports).toMatchObject([
      { about: first, receipt: { status: 'sent' } },
      { type: 'suppress', about: second, reason: 'complaint' },
    ])
  })

  it('relays nothing and knows no other address', async () => {
    const { sink, intake, talk } = await open({ strangers: 100 })
    const about = newRef()
    const own = bounceAddress(about)
    const { say } = await talk()
    await say('EHLO sender.example.test')
    await say('MAIL FROM:<>')
    const strangers = [
      'someone@elsewhere.example',
      `someone@${BOUNCE_DOMAIN}`,
      `postmaster@${BOUNCE_DOMAIN}`,
      `b+@${BOUNCE_DOMAIN}`,
      own.replace(BOUNCE_DOMAIN, 'elsewhere.example'),
      own.replace(BOUNCE_DOMAIN, `elsewhere.${BOUNCE_DOMAIN}`),
      own.replace('b+', ''),
      own.replace('b+', 'c+'),
      own.replace('@', '%elsewhere.example@'),
      `b+${about.message_id}@${BOUNCE_DOMAIN}`,
      `b+${messageToken('another secret', 'bounce', about)}@${BOUNCE_DOMAIN}`,
      `b+${messageToken(SECRET, 'unsubscribe', about)}@${BOUNCE_DOMAIN}`,
    ]
    for (const address of strangers) {
      expect(await say(`RCPT TO:<${address}>`), address).toMatch(/^550 /)
    }
    expect(await say('DATA')).toMatch(/^503 /)
    expect(await say('AUTH PLAIN AGEAYg==')).toMatch(/^500 /)
    expect(await say('STARTTLS')).toMatch(/^500 /)
    expect(sink.reports).toEqual([])
    expect(intake.states()[0]?.detail).toContain(`${strangers.length} addresses refused`)
  })

  it('promises nothing in its greeting that it does not do', async () => {
    const { talk } = await open({}, { max_bytes: 12_345 })
    const { say } = await talk()
    const features = await say('EHLO sender.example.test')
    expect(features).toContain('SIZE 12345')
    expect(features).not.toMatch(/AUTH|STARTTLS|DSN/)
  })

  it('acknowledges and drops what says nothing of use, and notes no word of it', async () => {
    const { sink, intake, talk } = await open()
    const about = newRef()
    const { mail } = await talk()
    const useless = [AWAY, '', '\0\xff', feedbackReport({ kind: 'not-spam' })]
    for (const raw of useless) expect(await mail([bounceAddress(about)], raw)).toMatch(/^250 /)
    expect(sink.reports).toEqual([])
    expect(sink.notes).toHaveLength(useless.length)
    expect(sink.notes[0]).toEqual({
      level: 'info',
      text: 'a mail that tells nothing of use was dropped',
      fields: { kind: 'no report', message_ids: [about.message_id] },
    })
    expect(intake.states()[0]?.detail).toContain(`${useless.length} mails dropped`)
  })

  it('asks the sender to come again where storing failed, and takes it then', async () => {
    const { sink, talk } = await open()
    const to = [bounceAddress(newRef())]
    const { mail } = await talk()
    sink.before = () => Promise.reject(new Error('no room'))
    expect(await mail(to, postfixReport())).toMatch(/^451 /)
    expect(sink.notes).toMatchObject([{ level: 'error', text: 'a mail could not be stored' }])
    sink.before = async () => {}
    expect(await mail(to, postfixReport())).toMatch(/^250 /)
    expect(sink.reports).toHaveLength(1)
  })

  it('asks the sender to come again where storing takes too long', async () => {
    const { sink, talk } = await open({ store_ms: 20 })
    const { passed, open: let_go } = gate()
    sink.before = () => passed
    const { mail } = await talk()
    expect(await mail([bounceAddress(newRef())], postfixReport())).toMatch(/^451 /)
    let_go()
  })

  it('acknowledges nothing before it is stored', async () => {
    const { sink, talk } = await open()
    const [begun, stored] = [gate(), gate()]
    sink.before = () => {
      begun.open()
      return stored.passed
    }
    const { mail } = await talk()
    let answered = false
    const answer = mail([bounceAddress(newRef())], postfixReport()).then((text) => {
      answered = true
      return text
    })
    await begun.passed
    // Another connection is answered meanwhile: had this one been, it would have been heard of.
    const { say } = await talk()
    expect(await say('EHLO sender.example.test')).toMatch(/^250/)
    expect(answered).toBe(false)
    stored.open()
    expect(await answer).toMatch(/^250 /)
  })
})

describe('feedback reports to the address for complaints', () => {
  const proofs = {
    'the envelope sender that the report names': (about: ReturnType<typeof newRef>) => ({
      mail_from: bounceAddress(about),
    }),
    'the return path of the mail that came back': (about: ReturnType<typeof newRef>) => ({
      returned: `Return-Path: <${bounceAddress(about)}>`,
    }),
    'the link to unsubscribe in it': (about: ReturnType<typeof newRef>) => ({
      returned: `List-Unsubscribe: <https://svc.example/unsubscribe/${messageToken(SECRET, 'unsubscribe', about)}>`,
    }),
  }

  it.each(Object.entries(proofs))('are believed by %s', async (_, proof) => {
    const { sink, talk } = await open()
    const about = newRef()
    const { mail } = await talk()
    expect(await mail([COMPLAINTS], feedbackReport(proof(about)))).toMatch(/^250 /)
    expect(sink.reports).toEqual([{ type: 'suppress', about, reason: 'complaint' }])
  })

  it('are dropped where they name a bare id, or a token of nobody', async () => {
    const { sink, talk } = await open()
    const about = newRef()
    const forged = messageToken('another secret', 'bounce', about)
    const { mail } = await talk()
    for (const returned of [`Message-ID: <${about.message_id}@example.test>`, `X: ${forged}`]) {
      expect(await mail([COMPLAINTS], feedbackReport({ returned }))).toMatch(/^250 /)
    }
    expect(await mail([COMPLAINTS], postfixReport({ envelope_id: about.message_id }))).toMatch(
      /^250 /,
    )
    expect(sink.reports).toEqual([])
  })

  it('and a bounce there, by an envelope id that holds a token', async () => {
    const { sink, talk } = await open()
    const about = newRef()
    const envelope_id = messageToken(SECRET, 'bounce', about)
    const { mail } = await talk()
    await mail([COMPLAINTS], postfixReport({ envelope_id }))
    expect(sink.reports).toMatchObject([{ type: 'receipt', about }])
  })

  it('and no token inside counts against the one in the address', async () => {
    const { sink, talk } = await open()
    const [about, other] = [newRef(), newRef()]
    const { mail } = await talk()
    await mail([bounceAddress(about)], feedbackReport({ mail_from: bounceAddress(other) }))
    expect(sink.reports).toMatchObject([{ about }])
  })
})

describe('bounds', () => {
  it('mails that are too large: refused, said before or found out', async () => {
    const { sink, talk } = await open({}, { max_bytes: 20_000 })
    const to = [bounceAddress(newRef())]
    const { say, mail } = await talk()
    await say('EHLO sender.example.test')
    expect(await say('MAIL FROM:<> SIZE=20001')).toMatch(/^552 /)
    expect(await mail(to, `${postfixReport()}${'x'.repeat(20_000)}`)).toMatch(/^552 /)
    expect(sink.reports).toEqual([])
    expect(await mail(to, postfixReport())).toMatch(/^250 /)
  })

  it('recipients: more are told to come later', async () => {
    const { talk } = await open({ recipients: 2 })
    const { say } = await talk()
    await say('EHLO sender.example.test')
    await say('MAIL FROM:<>')
    const answers: string[] = []
    for (let i = 0; i < 3; i += 1) {
      answers.push((await say(`RCPT TO:<${bounceAddress(newRef())}>`)).slice(0, 3))
    }
    expect(answers).toEqual(['250', '250', '452'])
  })

  it('whoever tries addresses: hung up on', async () => {
    const { talk } = await open({ strangers: 3 })
    const { say, closed } = await talk()
    await say('EHLO sender.example.test')
    await say('MAIL FROM:<>')
    const answers: string[] = []
    for (let i = 0; i < 3; i += 1) {
      answers.push((await say(`RCPT TO:<user${i}@${BOUNCE_DOMAIN}>`)).slice(0, 3))
    }
    expect(answers).toEqual(['550', '550', '421'])
    await closed
  })

  it('connections: one too many is told to come later', async () => {
    const { intake, talk } = await open({ clients: 1 })
    await talk()
    const transport = createTransport({ host: '127.0.0.1', port: intake.port })
    await expect(transport.verify()).rejects.toMatchObject({ responseCode: 421 })
  })

  it('connections of one address: one too many is told to come later, and others are served', async () => {
    const { intake, talk } = await open({ clients: 4, clients_of_site: 2 })
    const [first] = [await talk(), await talk()]
    const from = (localAddress: string) =>
      createTransport({ host: '127.0.0.1', port: intake.port, localAddress })
    for (let i = 0; i < 10; i++) {
      await expect(from('127.0.0.1').verify()).rejects.toMatchObject({ responseCode: 421 })
    }
    expect(await from('127.0.0.2').verify()).toBe(true)
    first?.end()
    await first?.closed
    expect(await from('127.0.0.1').verify()).toBe(true)
  })

  it('silence, and connections that never end: hung up on', async () => {
    const silent = await (await open({ silence_ms: 30 })).talk()
    await silent.closed
    const { talk } = await open({ connection_ms: 60 })
    const busy = await talk()
    while ((await busy.say('NOOP')) !== '');
    await busy.closed
  })

  it('a sender that leaves in the middle of a mail: nothing is taken of it', async () => {
    const { sink, intake, talk } = await open()
    const { say, write, end } = await talk()
    await say('EHLO sender.example.test')
    await say('MAIL FROM:<>')
    await say(`RCPT TO:<${bounceAddress(newRef())}>`)
    await say('DATA')
    write(postfixReport())
    end()
    const about = newRef()
    const { mail } = await talk()
    await mail([bounceAddress(about)], postfixReport())
    // Nothing is left under way, or this would take a minute.
    await intake.close(60_000)
    expect(sink.reports).toMatchObject([{ about }])
  })

  it('noise on the line: answered, or hung up on', async () => {
    const { sink, talk } = await open()
    for (const noise of ['GET / HTTP/1.1', '\0'.repeat(100), 'x'.repeat(100_000), '\xff\xfe']) {
      const { say } = await talk()
      expect(await say(noise)).toMatch(/^(?:421|50\d) |^$/)
    }
    const { mail } = await talk()
    expect(await mail([bounceAddress(newRef())], postfixReport())).toMatch(/^250 /)
    expect(sink.reports).toHaveLength(1)
  })
})

describe('its end', () => {
  it('waits for what is being stored, and hangs up on all others at once', async () => {
    const { sink, intake, talk } = await open()
    const [begun, stored] = [gate(), gate()]
    sink.before = () => {
      begun.open()
      return stored.passed
    }
    const idle = await talk()
    const busy = await talk()
    const answer = busy.mail([bounceAddress(newRef())], postfixReport())
    await begun.passed
    const closed = intake.close(60_000)
    expect(await idle.answer()).toMatch(/^421 /)
    await idle.closed
    expect(intake.states()).toMatchObject([{ state: 'down' }])
    stored.open()
    expect(await answer).toMatch(/^250 /)
    await closed
    await busy.closed
    expect(sink.reports).toHaveLength(1)
  })

  it('waits no longer than it may', async () => {
    const { sink, intake, talk } = await open()
    const [begun, stored] = [gate(), gate()]
    sink.before = () => {
      begun.open()
      return stored.passed
    }
    const { mail, closed } = await talk()
    const answer = mail([bounceAddress(newRef())], postfixReport())
    await begun.passed
    await intake.close(20)
    expect(await answer).not.toMatch(/^250/)
    await closed
    stored.open()
  })

  it('gives the port back', async () => {
    const { intake } = await open()
    await intake.close(1_000)
    await intake.close(1_000)
    const server = createServer().listen(intake.port, '127.0.0.1')
    await once(server, 'listening')
    server.close()
  })

  it('a port that is taken is an error', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    ends.push(() => server.close())
    const { listenForMail } = await import('../../../src/providers/smtp/intake.ts')
    const { port } = server.address() as { port: number }
    await expect(
      listenForMail({
        intake: { host: '127.0.0.1', port },
        bounce_domain: BOUNCE_DOMAIN,
        secret: SECRET,
        sink: createSink(),
      }),
    ).rejects.toMatchObject({ code: 'EADDRINUSE' })
  })
})
