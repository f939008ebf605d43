import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { settingsOf } from '../data-folder.ts'
import { aborted, stopSignalOf } from '../surroundings.ts'

/** Adds `svc serve`: the service in production. */
export function addServe(program: Command, context: Context): void {
  const command = program
    .command('serve')
    .summary('run the service in production')
    .description(
      `Runs the service for production: nothing is seeded, nothing relaxed, and the log is JSON on stdout. SIGTERM lets
what is under way end. Settings come from the environment:

  HOST, PORT                 where to listen (127.0.0.1, 3000)
  SVC_DATA_DIR               where the database is (./data)
  SVC_DATABASE_URL           postgres://…, or file:<path> (the data folder's svc.db)
  SVC_JWT_SECRET             signs sessions, 32 bytes or more (generated)
  SVC_PUBLIC_URL             the address that others reach it at
  SVC_SIGNUP_CREDITS         what a new workspace begins with (0)
  SVC_SIGNUP_DAILY_LIMIT     the most that a new workspace may spend on a day (no limit)
  SVC_LOW_BALANCE            below how many credits owners are told (never)
  SVC_PRICES                 what messages cost, as JSON (sms 1, whatsapp 0.5, email 0.1, voice 2)
  SVC_ALLOWED_COUNTRIES      the only countries whose numbers are written to, as TZ,KE (all)
  SVC_DENIED_COUNTRIES       countries whose numbers are not (none)
  SVC_SEQUENCE_LIMIT         so many numbers in sequence/seconds freeze a workspace, as 10/60 (never)
  SVC_CREDIT_PACKAGES        what can be bought, as JSON (nothing)
  STRIPE_SECRET_KEY          takes the payments for it, with
  STRIPE_WEBHOOK_SECRET      the signing secret of the webhook endpoint there
  SVC_PROVIDERS              who carries messages: a JSON list, or the path of a file with one (the sandbox)
  TWILIO_ACCOUNT_SID         SMS, WhatsApp, voice, with TWILIO_AUTH_TOKEN and the numbers to send from:
  TWILIO_SMS_FROM            … and TWILIO_WHATSAPP_FROM, TWILIO_VOICE_FROM
  SVC_SMTP_URL               e-mail, with SVC_MAIL_DOMAIN; SVC_DKIM_SELECTOR and SVC_DKIM_KEY_FILE sign it
  SVC_MAIL_INTAKE            where bounces are taken in, as 0.0.0.0:2525 (nowhere)
  SVC_WEBHOOK_ALLOW_HTTP     true lets webhooks go to plain http (false)
  SVC_WEBHOOK_ALLOW_NETS     networks, e.g. 10.0.0.0/8, that webhooks may reach although not public
  SVC_TRUST_PROXY            networks of proxies to trust
  SVC_RATE_LIMIT_…           GENERAL, BULK, AUTH, ANONYMOUS, FAILED_AUTH, as 100/60
  SVC_BULK_RECIPIENTS_MAX    how many recipients one bulk may have (1000)
  SVC_LOG_LEVEL              info`,
    )
    .action(() => serve(context))
  withExamples(
    command,
    'HOST=0.0.0.0 SVC_DATA_DIR=/var/lib/svc svc serve',
    'svc workspaces create --name Example --email ops@example.com',
  )
}

async function serve({ surroundings }: Context): Promise<void> {
  const stop = stopSignalOf(surroundings)
  const { readConfig, startServer } = await import('@svc/server')
  const server = await startServer({ config: readConfig(settingsOf(surroundings)) })
  await aborted(stop)
  await server.close()
}
