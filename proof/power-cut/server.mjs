import { readConfig, startServer } from '@svc/server'

// The built service as `svc serve` runs it, without a compiler, because it is started hundreds of times.
const { url } = await startServer({ config: readConfig(process.env) })
process.send?.({ url })
process.on('disconnect', () => process.exit())
