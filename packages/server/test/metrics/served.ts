import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Svc } from '@svc/client'
import { readConfig, startServer } from '../../src/index.ts'

/** A server as an operator runs it, with metrics on a free port; and an owner with credits. */
export async function openServed(settings: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-metrics-'))
  const server = await startServer({
    config: readConfig({
      PORT: '0',
      SVC_DATA_DIR: folder,
      SVC_SIGNUP_CREDITS: '40',
      SVC_WEBHOOK_ALLOW_HTTP: 'true',
      SVC_WEBHOOK_ALLOW_NETS: '127.0.0.0/8',
      SVC_METRICS_LISTEN: '127.0.0.1:0',
      SVC_LOG_LEVEL: 'silent',
      ...settings,
    }),
  })
  const { url: base_url, core, metrics_url } = server
  const metricsUrl = metrics_url ?? ''
  const signup = { email: 'owner@example.com', password: 'long enough', company_name: 'Acme' }
  const { workspace } = await new Svc({ baseUrl: base_url }).workspaces.signup(signup)
  const { token } = await new Svc({ baseUrl: base_url }).workspaces.login(signup)
  const { key: api_key } = await new Svc({ baseUrl: base_url, token }).apiKeys.create({ name: 'A' })
  return {
    core,
    base_url,
    metricsUrl,
    workspace_id: workspace.id,
    api_key,
    client: new Svc({ baseUrl: base_url, apiKey: api_key, token }),
    /** Resolves when no work is due. */
    idle: async () => (await core.startDispatch()).idle(),
    async scrape(): Promise<string> {
      const response = await fetch(metricsUrl)
      if (response.status !== 200) throw new Error(`a scrape was answered ${response.status}`)
      return response.text()
    },
    async close(): Promise<void> {
      await server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export type Served = Awaited<ReturnType<typeof openServed>>
