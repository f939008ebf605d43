// The service with Acme as its provider.
import { createCore } from '@svc/core'
import { RATES } from '@svc/core/contract'
import { buildApp } from '@svc/server'

const { ACME_URL, ACME_API_KEY, ACME_REPORT_SECRET, ACME_SENDER } = process.env
const public_url = () => process.env.PUBLIC_URL ?? 'http://127.0.0.1:8080'

const core = await createCore({
  database_url: process.env.DATABASE_URL ?? 'file:./svc.db',
  signup_credits: '100',
  public_url,
  providers: [
    {
      module: new URL('./acme.js', import.meta.url),
      settings: {
        url: ACME_URL,
        api_key: ACME_API_KEY,
        report_secret: ACME_REPORT_SECRET,
        sender: ACME_SENDER,
      },
    },
  ],
})
await core.startDispatch()

const config = { rates: RATES, trust_proxy: [], jwt_secret: await core.secret('jwt') }
const app = await buildApp(core, { config, public_url })
app.addHook('onClose', () => core.close())

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => app.close())
console.log(await app.listen({ port: Number(process.env.PORT ?? 8080) }))
