import { servePeer } from './peer.mjs'

servePeer(async ({ database, load, perform }) => {
  const { Logger, run } = load('graphile-worker')
  const runner = await run({
    preset: {
      worker: {
        connectionString: database,
        maxPoolSize: 20,
        concurrentJobs: 64,
        // The batches that its documentation recommends for throughput.
        localQueue: { size: 500 },
        completeJobBatchDelay: 0,
      },
    },
    logger: new Logger(() => () => {}),
    noHandleSignals: true,
    taskList: { send: perform },
  })
  return (message) => runner.addJob('send', message, { maxAttempts: 8 })
})
