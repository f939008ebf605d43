/**
 * Counts the POSTs that a server gets which never asked for webhooks: a free test key makes 20 webhooks of one host and sends
 * one bulk of 1,000 test messages.
 *
 *   npm run victim-posts -- [--seconds 30] [--answers 404,301] [--threads 1] [--postgres]
 *
 * Prints a table: for each answer the POSTs within that time, and the most at once. `--threads`: those that send, 0 for none,
 * so that two versions are compared with the same number. `--postgres` uses a PostgreSQL server of its own instead of SQLite.
 */

import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createCore } from '@svc/core'
import { listen } from '../stage/endpoint.ts'
import { startPostgres } from '../stage/postgres.ts'
import { onStage } from '../stage/stage.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '30' },
    answers: { type: 'string', default: '404,200,301,400,403,410,429,503,never,200-never' },
    webhooks: { type: 'string', default: '20' },
    recipients: { type: 'string', default: '1000' },
    threads: { type: 'string', default: '1' },
    postgres: { type: 'boolean', default: false },
  },
})

console.log(
  `${values.webhooks} webhooks of one host, one test bulk of ${values.recipients}, ${values.seconds} s, ${values.threads} threads, ${values.postgres ? 'PostgreSQL' : 'SQLite'}:\n`,
)
console.log('| The host answers | POSTs | at once |\n|---|---|---|')
for (const answer of values.answers.split(',')) {
  const { posts, at_once } = await attack(answer)
  console.log(`| ${answer} | ${posts.toLocaleString('en')} | ${at_once} |`)
}

/** `answer`: a status, `never` for no answer, or a status with `-never` for a body without an end. */
function attack(answer: string): Promise<{ posts: number; at_once: number }> {
  return onStage(async (stage) => {
    let [posts, open, at_once] = [0, 0, 0]
    const server = createServer((request, response) => {
      posts += 1
      open += 1
      at_once = Math.max(at_once, open)
      response.once('close', () => {
        open -= 1
      })
      request.resume()
      const [status, never] = answer.split('-')
      if (status === 'never') return
      response.writeHead(Number(status), { location: '/elsewhere' })
      if (never) response.write('…')
      else response.end()
    })
    const postgres = values.postgres ? await startPostgres({ stage }) : null
    const core = await createCore({
      database_url: postgres?.url ?? `file:${join(stage.folder, 'svc.db')}`,
      threads: Number(values.threads),
      webhook_targets: { allow_http: true, allow_nets: ['127.0.0.0/8'] },
    })
    stage.atEnd(() => core.close({ grace_ms: 0 }))
    const victim = await listen(server)
    stage.atEnd(victim.close)
    const { id } = await core.workspaces.signup({
      email: `${answer}@example.com`,
      password: 'a long test password',
      company_name: 'Acme',
    })
    const key = { name: 'A', mode: 'test', scopes: ['send_messages'] } as const
    const made = await core.apiKeys.create(id, { ...key, scopes: [...key.scopes] })
    const identity = await core.apiKeys.authenticate(made.key, '127.0.0.1')
    for (let i = 0; i < Number(values.webhooks); i++) {
      await core.webhooks.create(id, { url: `${victim.url}/${i}`, events: ['*'] })
    }
    await core.startDispatch()
    const to = (i: number) => `+1500555${`${i}`.padStart(4, '0')}`
    await core.messages.bulks.send(identity, {
      channel: 'sms',
      content: { text: 'Hi' },
      recipients: Array.from({ length: Number(values.recipients) }, (_, i) => ({ to: to(i) })),
    })
    await pause(Number(values.seconds) * 1_000)
    return { posts, at_once }
  })
}
