/** What a setting is about. */
export type SettingGroup = keyof typeof SETTING_GROUPS

/** The groups in the order in which they are shown, with what they are called. */
export const SETTING_GROUPS = {
  listening: 'Where it listens and keeps its data',
  accounts: 'Accounts and credits',
  payments: 'Payments',
  providers: 'Who carries messages',
  webhooks: 'Webhooks',
  limits: 'Limits',
  operating: 'Operating',
  client: 'Which server the svc command talks to',
} as const

/**
 * What the text of a setting holds. In a configuration file a `number` and a `boolean` may be written as such, a `list`
 * as an array of texts (the environment joins them by commas), `json` as plain JSON. A relative `path`, and that of a
 * `database` that is a file, counts from the file's folder. `json_or_path` is either.
 */
export type SettingKind =
  | 'text'
  | 'number'
  | 'boolean'
  | 'list'
  | 'json'
  | 'path'
  | 'json_or_path'
  | 'database'

/** One setting of the service. */
export interface Setting {
  /** Its environment variable, such as `SVC_DATA_DIR`. */
  readonly env: string
  /** Its key in a configuration file: `env` in lower case, without `SVC_`. */
  readonly key: string
  readonly group: SettingGroup
  readonly kind: SettingKind
  /** One line: what it does. */
  readonly summary: string
  /** What holds where it is not set, as text; null where that is nothing. */
  readonly default: string | null
  /** A text that the environment could hold. */
  readonly example: string
  /** Whether it must not be shown. */
  readonly is_secret: boolean
}

interface Row {
  readonly kind?: SettingKind
  readonly summary: string
  readonly default?: string
  readonly example: string
  readonly is_secret?: true
}

const ROWS: Record<SettingGroup, Record<string, Row>> = {
  listening: {
    HOST: { summary: 'the address to listen on', default: '127.0.0.1', example: '0.0.0.0' },
    PORT: {
      kind: 'number',
      summary: 'the port to listen on; 0 takes a free one',
      default: '3000',
      example: '8080',
    },
    SVC_DATA_DIR: {
      kind: 'path',
      summary: 'the folder of the database and of generated secrets',
      default: './data',
      example: '/var/lib/svc',
    },
    SVC_DATABASE_URL: {
      kind: 'database',
      summary: 'file:<path> or postgres://…',
      default: 'svc.db in the data folder',
      example: 'postgres://svc:password@db.example/svc',
      is_secret: true,
    },
    SVC_SECRETS_KEY: {
      kind: 'list',
      summary: 'keys of 32 bytes for the secrets in the database: the first encrypts',
      example: `${'A'.repeat(43)}=`,
      is_secret: true,
    },
    SVC_SECRETS_KEY_FILE: {
      kind: 'path',
      summary: 'the file with those keys instead, one a line',
      example: '/etc/svc/secrets.key',
    },
    SVC_PUBLIC_URL: {
      summary: 'the address that others reach the service at',
      default: 'http://HOST:PORT',
      example: 'https://svc.example.com',
    },
    SVC_TRUST_PROXY: {
      kind: 'list',
      summary: 'networks of proxies whose X-Forwarded-For counts',
      example: '10.0.0.0/8',
    },
  },
  accounts: {
    SVC_JWT_SECRET: {
      summary: 'signs sessions, 32 bytes or more',
      default: 'generated, kept in the database',
      example: 'a-secret-of-at-least-32-bytes-for-sessions',
      is_secret: true,
    },
    SVC_SIGNUP_CREDITS: {
      kind: 'number',
      summary: 'the credits that a new workspace begins with',
      default: '0',
      example: '100',
    },
    SVC_SIGNUP_CREDITS_ON: {
      summary: 'when a new workspace gets them: with its signup, or when its address is verified',
      example: 'verification',
    },
    SVC_SIGNUP_DAILY_LIMIT: {
      kind: 'number',
      summary: 'the most credits that a new workspace may spend on a day',
      example: '50',
    },
    SVC_LOW_BALANCE: {
      kind: 'number',
      summary: 'below how many credits owners are told',
      example: '20',
    },
    SVC_PRICES: {
      kind: 'json',
      summary: 'what messages cost, by channel',
      default: 'sms 1, whatsapp 0.5, email 0.1, voice 2',
      example: '{"sms":"0.8"}',
    },
    SVC_ALLOWED_COUNTRIES: {
      kind: 'list',
      summary: 'the only countries whose numbers are written to',
      default: 'all',
      example: 'TZ,KE',
    },
    SVC_DENIED_COUNTRIES: {
      kind: 'list',
      summary: 'countries whose numbers are not written to',
      example: 'CU,KP',
    },
    SVC_SEQUENCE_LIMIT: {
      summary: 'so many numbers in sequence/seconds freeze a workspace',
      example: '10/60',
    },
  },
  payments: {
    SVC_CREDIT_PACKAGES: {
      kind: 'json',
      summary: 'what can be bought',
      example:
        '[{"id":"starter","name":"Starter","credits":1000,"price":{"amount":1000,"currency":"USD"}}]',
    },
    STRIPE_SECRET_KEY: {
      summary: 'the key of the Stripe account that takes the money',
      example: 'sk_test_example',
      is_secret: true,
    },
    STRIPE_WEBHOOK_SECRET: {
      kind: 'list',
      summary: 'the signing secret of the webhook endpoint at Stripe',
      example: 'whsec_example',
      is_secret: true,
    },
    STRIPE_API_URL: {
      summary: 'where the API of Stripe is instead',
      default: "Stripe's own",
      example: 'http://127.0.0.1:12111',
    },
  },
  providers: {
    SVC_PROVIDERS: {
      kind: 'json_or_path',
      summary: 'a list of providers in the order in which they are tried, or its file',
      default: 'the sandbox',
      example: './providers.json',
      is_secret: true,
    },
    TWILIO_ACCOUNT_SID: {
      summary: 'the account at Twilio',
      example: `AC${'0'.repeat(32)}`,
    },
    TWILIO_AUTH_TOKEN: {
      summary: 'its token',
      example: '0'.repeat(32),
      is_secret: true,
    },
    TWILIO_SMS_FROM: {
      kind: 'list',
      summary: 'numbers at Twilio to send SMS from',
      example: '+15005550006',
    },
    TWILIO_WHATSAPP_FROM: {
      kind: 'list',
      summary: 'numbers at Twilio to send WhatsApp from',
      example: '+15005550006',
    },
    TWILIO_VOICE_FROM: {
      kind: 'list',
      summary: 'numbers at Twilio to call from',
      example: '+15005550006',
    },
    SVC_SMTP_URL: {
      summary: 'the mail server: smtp://user:password@host:port or smtps://…',
      example: 'smtps://user:password@smtp.example.com',
      is_secret: true,
    },
    SVC_MAIL_DOMAIN: {
      summary: 'whose addresses mail comes from',
      example: 'example.com',
    },
    SVC_DKIM_SELECTOR: { summary: 'the name of the key that signs mail', example: 'svc' },
    SVC_DKIM_KEY_FILE: {
      kind: 'path',
      summary: 'the PEM file with its private half',
      example: '/etc/svc/dkim.pem',
    },
    SVC_MAIL_INTAKE: {
      summary: 'host:port where bounces are taken in',
      example: '0.0.0.0:2525',
    },
  },
  webhooks: {
    SVC_WEBHOOK_ALLOW_HTTP: {
      kind: 'boolean',
      summary: 'whether webhooks may go to plain http',
      default: 'false',
      example: 'true',
    },
    SVC_WEBHOOK_ALLOW_NETS: {
      kind: 'list',
      summary: 'networks that webhooks may reach although not public',
      example: '10.0.0.0/8',
    },
    SVC_WEBHOOK_DNS: {
      kind: 'list',
      summary: "DNS servers for webhooks' hosts, or system",
      default: "the machine's servers",
      example: '10.0.0.2,10.0.0.3:5353',
    },
  },
  limits: {
    SVC_RATE_LIMIT_GENERAL: {
      summary: 'requests/seconds of one API key or session',
      default: '100/60',
      example: '1000/60',
    },
    SVC_RATE_LIMIT_WORKSPACE: {
      summary: 'requests/seconds of one workspace, over all its API keys and sessions',
      default: 'five times the general limit',
      example: '2000/60',
    },
    SVC_RATE_LIMIT_BULK: {
      summary: 'bulk requests/seconds of one workspace',
      default: '10/300',
      example: '20/300',
    },
    SVC_RATE_LIMIT_BULK_ESTIMATE: {
      summary: 'estimates of bulks/seconds of one workspace',
      default: 'six times the bulk limit',
      example: '100/300',
    },
    SVC_RATE_LIMIT_AUTH: {
      summary: 'sign-in requests/seconds of one address',
      default: '5/900',
      example: '10/900',
    },
    SVC_RATE_LIMIT_ANONYMOUS: {
      summary: 'requests/seconds of one address without credentials',
      default: '100/60',
      example: '50/60',
    },
    SVC_RATE_LIMIT_FAILED_AUTH: {
      summary: 'wrong keys and tokens/seconds of one address',
      default: '60/900',
      example: '30/900',
    },
    SVC_RATE_LIMIT_LOGIN_ALL: {
      summary: 'logins/seconds of all addresses together (200 times SVC_RATE_LIMIT_AUTH)',
      default: '1000/900',
      example: '2000/900',
    },
    SVC_RATE_LIMIT_SIGNUP_ALL: {
      summary: 'signups/seconds of all addresses together (200 times SVC_RATE_LIMIT_AUTH)',
      default: '1000/900',
      example: '500/900',
    },
    SVC_API_KEYS_MAX: {
      kind: 'number',
      summary: 'how many active API keys one workspace may have',
      default: '100',
      example: '500',
    },
    SVC_WEBHOOKS_MAX: {
      kind: 'number',
      summary: 'how many webhooks one workspace may have',
      default: '100',
      example: '500',
    },
    SVC_CONTACTS_MAX: {
      kind: 'number',
      summary: 'how many contacts one workspace may have',
      default: '100000',
      example: '1000000',
    },
    SVC_WEBHOOKS_PER_HOST_MAX: {
      kind: 'number',
      summary: 'how many of them may go to one host',
      default: '20',
      example: '50',
    },
    SVC_TEST_MESSAGES_PER_DAY: {
      kind: 'number',
      summary: 'how many messages the test keys of one workspace may send on a day (UTC)',
      default: '10000',
      example: '100000',
    },
    SVC_TEST_BYTES_PER_DAY: {
      kind: 'number',
      summary: 'how many bytes of content and metadata these may come to',
      default: '67108864',
      example: '1000000000',
    },
    SVC_BULK_RECIPIENTS_MAX: {
      kind: 'number',
      summary: 'how many recipients one bulk may have',
      default: '1000',
      example: '10000',
    },
    SVC_OVERLOAD_REQUESTS: {
      kind: 'number',
      summary: 'so many requests at once are too many',
      default: '4000',
      example: '2000',
    },
    SVC_OVERLOAD_DELAY_MS: {
      kind: 'number',
      summary: 'requests that wait so many milliseconds for their turn are too many',
      default: '1000',
      example: '500',
    },
    SVC_CONNECTIONS_MAX: {
      kind: 'number',
      summary: 'how many connections are served at once',
      default: '10000',
      example: '2000',
    },
    SVC_LISTEN_BACKLOG: {
      kind: 'number',
      summary: 'how many connections may wait until they are accepted',
      default: '4096',
      example: '1024',
    },
  },
  operating: {
    SVC_BACKUP_EVERY: {
      summary: 'how often the server backs its SQLite database up by itself',
      example: '24h',
    },
    SVC_BACKUP_DIR: {
      kind: 'path',
      summary: 'the folder that backups go to',
      default: 'backups in the data folder',
      example: '/var/backups/svc',
    },
    SVC_BACKUP_KEEP: {
      kind: 'number',
      summary: 'how many of them stay',
      default: '7',
      example: '30',
    },
    SVC_METRICS_LISTEN: {
      summary: 'host:port where /metrics is served to Prometheus',
      example: '127.0.0.1:9464',
    },
    SVC_RETENTION_DAYS: {
      kind: 'number',
      summary: 'after how many days recipients and texts are erased, 7 or more',
      default: 'never',
      example: '90',
    },
    SVC_AUDIT_RETENTION_DAYS: {
      kind: 'number',
      summary: 'after how many days entries of the audit log are removed, 7 or more',
      default: '365',
      example: '730',
    },
    SVC_LOG_LEVEL: {
      summary: 'fatal, error, warn, info, debug, trace or silent',
      default: 'info',
      example: 'debug',
    },
  },
  client: {
    SVC_URL: {
      summary: 'the server',
      default: "svc dev's, or http://127.0.0.1:3000",
      example: 'https://svc.example.com',
    },
    SVC_API_KEY: { summary: 'the API key', example: 'svc_…', is_secret: true },
    SVC_WEBHOOK_SECRET: {
      summary: 'the secret that webhooks are signed and verified with',
      example: 'whsec_…',
      is_secret: true,
    },
  },
}

/** Every setting, group by group. */
export const SETTINGS: readonly Setting[] = Object.entries(ROWS).flatMap(([group, rows]) =>
  Object.entries(rows).map(([env, row]) => ({
    env,
    key: env.replace(/^SVC_/, '').toLowerCase(),
    group: group as SettingGroup,
    kind: row.kind ?? 'text',
    summary: row.summary,
    default: row.default ?? null,
    example: row.example,
    is_secret: row.is_secret ?? false,
  })),
)
