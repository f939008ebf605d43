/**
 * Tries the OpenAPI document with tools of others: `npm run openapi-tools [-- --seed 42 --requests 500]`. Two linters read
 * it; the clients of two generators compile and send a message; Prism compares
 * the answers to a right request of each operation, and to varied requests, with it.
 * Installs the tools from npm in a temporary folder.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { api, openapi } from '@svc/core/contract'
import { signUp } from '../stage/accounts.ts'
import { startService } from '../stage/service.ts'
import { onStage } from '../stage/stage.ts'
import { generate, lint } from './checks.ts'
import { compareThroughPrism } from './proxy.ts'
import { openWholeService } from './service.ts'
import { installTools } from './tools.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '20261122' },
    requests: { type: 'string', default: '500' },
  },
})
let failed = 0

async function check(name: string, work: () => Promise<string | undefined>): Promise<void> {
  try {
    console.log(`ok     ${name}${(await work()) ?? ''}`)
  } catch (error) {
    failed++
    console.log(`FAILED ${name}\n${(error as Error).message}`)
  }
}

await onStage(async (stage) => {
  const { folder } = stage
  const tools = await installTools(folder)
  const service = await startService(stage, 'service', { dispatch: true })
  stage.atEnd(service.stop)
  const { url } = service
  const { owner } = await signUp(url, 'owner')
  const { key } = await owner.apiKeys.create({ name: 'Tools' })
  const document = openapi(api, { version: '1.0.0', url })
  writeFileSync(join(tools.folder, 'openapi.json'), JSON.stringify(document))
  await check('redocly and spectral find no error', async () => {
    await lint(tools)
    return undefined
  })
  for (const name of ['hey-api', 'openapi-fetch'] as const) {
    await check(`a client of ${name} compiles and sends`, async () => {
      await generate(tools, name, { url, key })
      return undefined
    })
  }
  await check(
    'Prism finds a success of each operation, and no answer that is not described',
    async () => {
      const whole = await openWholeService(folder)
      try {
        const sample = { seed: Number(values.seed), count: Number(values.requests) }
        const { statuses, faults } = await compareThroughPrism(tools, document, whole, sample)
        if (faults.length > 0) throw new Error(faults.join('\n'))
        const counts = [...statuses].sort(([a], [b]) => a - b)
        return `: ${counts.map(([status, n]) => `${n} of ${status}`).join(', ')}`
      } finally {
        await whole.close()
      }
    },
  )
})
if (failed > 0) process.exitCode = 1
