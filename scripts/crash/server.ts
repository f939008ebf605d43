import { readConfig, startServer } from '@svc/server'

// The service as `svc serve` runs it. The process that kills it is told where it listens.
const { url } = await startServer({ config: readConfig(process.env) })
process.send?.({ url })
process.on('disconnect', () => process.exit())
