import { servePeer } from './peer.mjs'

servePeer(async ({ database, load, perform }) => {
  const PgBoss = load('pg-boss')
  const boss = new PgBoss({ connectionString: database, max: 20 })
  boss.on('error', (error) => console.error(error))
  await boss.start()
  await boss.createQueue('send')
  // Half a second is the shortest pause that it permits.
  const worker = { batchSize: 500, pollingIntervalSeconds: 0.5 }
  const id = await boss.work('send', worker, async (jobs) => {
    await Promise.all(jobs.map(({ data }) => perform(data)))
    // A full batch: more are queued.
    if (jobs.length === worker.batchSize) boss.notifyWorker(id)
  })
  return (message) => boss.send('send', message, { retryLimit: 8, retryBackoff: true })
})
