import { it } from 'vitest'
import { openWorld } from './world.ts'
it('x', async () => {
  const w = await openWorld({ dispatch: true, log_level: 'debug' })
  const a = await w.signup({ credits: 10 })
  const { key } = await w.key(a)
  const ids: string[] = []
  const show = async (what: string) => { for (const id of ids) { const m = (await w.call('GET', `/api/v1/messages/${id}`, { key })).body.data.message; console.log(what, id.slice(-4), m.status, m.updated_at) } }
  ids.push((await w.send(key)).body.data.message_id)
  await w.advance(60_000)
  await show('advanced')
  ids.push((await w.send(key, {to: '+15005550001' })).body.data.message_id)
  await w.advance(60_000)
  await show('advanced 2')
  for (let i = 0; i < 5; i++) {
    await w.dispatcher.idle()
    await show(`idle ${i}`)
  }
  console.log(w.lines.filter((l) => l.msg !== 'request'))
  w.takeFaults()
  await w.close()
})
