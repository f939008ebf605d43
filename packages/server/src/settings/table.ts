/**
 * The one definition of every setting. The type and the value of `Config`, the keys of the configuration file,
 * `svc config`, the help of `svc serve` and docs/operating/configuration.md (`npm run docs`) follow from this table.
 * It imports nothing, because the command loads it for `--help`.
 */

/** The name of a group of settings. */
export type SettingGroup = keyof typeof SETTING_GROUPS

/** The groups in the order in which they are shown, with their titles. */
export const SETTING_GROUPS = {
  listening: 'Address, data and database',
  accounts: 'Accounts and credits',
  payments: 'Payments',
  providers: 'Providers',
  webhooks: 'Webhooks',
  limits: 'Limits',
  operating: 'Operating',
  client: 'Client commands',
} as const

/**
 * The form of a setting in a configuration file. A `number` or `boolean` may have that JSON type. A `list` may be an
 * array of texts (in the environment: one text with commas), and `json` plain JSON. A relative `path`, also of a
 * `database` file, starts at the folder of the configuration file. `json_or_path` is JSON or a path.
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

/** The types of settings: their kind, and the name of the type in the documentation. */
export const SETTING_TYPES = {
  text: { kind: 'text', shown: 'text' },
  /** A name of 1 to 60 characters. */
  brand: { kind: 'text', shown: 'text' },
  list: { kind: 'list', shown: 'list' },
  json: { kind: 'json', shown: 'JSON' },
  path: { kind: 'path', shown: 'path' },
  json_or_path: { kind: 'json_or_path', shown: 'JSON or path' },
  database: { kind: 'database', shown: 'URL' },
  postgres: { kind: 'text', shown: 'URL' },
  postgres_list: { kind: 'list', shown: 'list of URLs' },
  url: { kind: 'text', shown: 'URL' },
  port: { kind: 'number', shown: 'port' },
  host_port: { kind: 'text', shown: '`host:port`' },
  boolean: { kind: 'boolean', shown: '`true` or `false`' },
  choice: { kind: 'text', shown: 'choice' },
  /** A whole number from 1 to `max`. */
  whole: { kind: 'number', shown: 'whole number' },
  /** A whole number of days, `min` to `max`. */
  days: { kind: 'number', shown: 'days' },
  /** A whole number from 1 to `max`, or `auto`. */
  processes: { kind: 'number', shown: 'whole number or `auto`' },
  /** A decimal number of credits. */
  credits: { kind: 'number', shown: 'credits' },
  /** A number of minutes, hours or days: `30m`, `6h`, `1d`. */
  duration: { kind: 'text', shown: 'duration' },
  /** A number of requests in a window of seconds: `100/60`. */
  rate: { kind: 'text', shown: 'count/seconds' },
  smtp_addresses: { kind: 'list', shown: 'list of `host:port`' },
  networks: { kind: 'list', shown: 'list of CIDR networks' },
  countries: { kind: 'list', shown: 'list of country codes' },
  dns_servers: { kind: 'list', shown: 'list of `address:port`, or `system`' },
  session_secret: { kind: 'text', shown: 'text' },
  credit_packages: { kind: 'json', shown: 'JSON' },
} as const satisfies Record<string, { kind: SettingKind; shown: string }>

/** The name of a type of settings. */
export type SettingType = keyof typeof SETTING_TYPES

/** One row of the table. */
interface Row {
  readonly type: SettingType
  /** The description in one line, for the help of the command. */
  readonly summary: string
  /** Markdown that replaces `summary` in docs/operating/configuration.md. */
  readonly details?: string
  /** The default, written as in the environment. */
  readonly default?: string
  /** The default in words, in place of `default`. */
  readonly default_words?: string
  /** Whether code computes the default from other settings. `DERIVED` in config.ts holds this code. */
  readonly is_derived?: true
  readonly min?: number
  readonly max?: number
  /** The values of a `choice`. */
  readonly choices?: readonly string[]
  /** A valid value, written as in the environment. */
  readonly example: string
  readonly is_secret?: true
  /** The place in `Config`, if it differs from `key`. */
  readonly field?: string
  /** Whether this setting is read together with others, so that `Config` has no field for it alone. */
  readonly is_part?: true
}

/** The commands show the settings in this order. */
const ROWS = {
  listening: {
    HOST: {
      type: 'text',
      summary: 'the address to listen on',
      default: '127.0.0.1',
      example: '0.0.0.0',
    },
    PORT: {
      type: 'port',
      summary: 'the port to listen on; 0 takes a free one',
      default: '3000',
      example: '8080',
    },
    SVC_DATA_DIR: {
      type: 'path',
      summary: 'the folder of the database and of generated secrets',
      details: 'the folder of the database and of generated secrets; only its owner can read it',
      default: './data',
      example: '/var/lib/svc',
    },
    SVC_DATABASE_URL: {
      type: 'database',
      summary: 'file:<path> or postgres://…',
      details:
        'a SQLite file (`file:<path>`), or `postgres://user:password@host/database`, with [several hosts](postgresql.md#a-standby-and-failover) for a failover',
      default_words: 'svc.db in the data folder',
      is_derived: true,
      example: 'postgres://svc:password@db.example/svc',
      is_secret: true,
    },
    SVC_DATABASE_DIRECT_URL: {
      type: 'postgres',
      summary: 'the same PostgreSQL database without the pooler of SVC_DATABASE_URL',
      details:
        'the same PostgreSQL database without [the pooler](postgresql.md#a-pooler) of `SVC_DATABASE_URL`: for listening, migrations and commands',
      example: 'postgres://svc:password@db.example/svc',
      is_secret: true,
    },
    SVC_DATABASE_REPLICA_URLS: {
      type: 'postgres_list',
      summary: 'read replicas of the PostgreSQL database of SVC_DATABASE_URL',
      details:
        '[read replicas](postgresql.md#read-replicas) of the PostgreSQL database: lists, searches, timelines, exports and statistics are read there',
      example: 'postgres://svc:password@db-b.example/svc',
      is_secret: true,
    },
    SVC_DATABASE_REPLICA_MAX_LAG_MS: {
      type: 'whole',
      summary: 'how many milliseconds a read waits for a read replica that is behind',
      details:
        'how many milliseconds a read waits for [a read replica](postgresql.md#read-replicas) that is behind; one that is further behind is not used',
      default: '250',
      max: 60_000,
      example: '1000',
    },
    SVC_PROCESSES: {
      type: 'processes',
      summary: 'the processes of svc serve on one PostgreSQL; auto takes one for each core',
      details:
        'the [processes of `svc serve`](scaling.md#several-processes) on one PostgreSQL; `auto` takes one for each core, and one on a SQLite file',
      default: '1',
      max: 64,
      example: 'auto',
    },
    SVC_SECRETS_KEY: {
      type: 'list',
      summary: 'keys of 32 bytes for the secrets in the database; the first key encrypts',
      details:
        'keys that [encrypt the secrets in the database](secrets.md), each 32 bytes as base64 or 64 hex digits; the first key encrypts, all keys decrypt',
      example: `${'A'.repeat(43)}=`,
      is_secret: true,
      is_part: true,
    },
    SVC_SECRETS_KEY_FILE: {
      type: 'path',
      summary: 'a file with these keys, one a line',
      details: 'a file with these keys, one a line, in place of `SVC_SECRETS_KEY`',
      example: '/etc/svc/secrets.key',
      is_part: true,
    },
    SVC_PUBLIC_URL: {
      type: 'url',
      summary: 'the public address of the service',
      details:
        'the public address of the service; links in [mails](../guides/accounts.md) and the callback addresses of providers begin with it',
      default_words: 'http://HOST:PORT',
      is_derived: true,
      example: 'https://svc.example.com',
    },
    SVC_BRAND: {
      type: 'brand',
      summary: 'the name of the service on its pages and in its mails to owners',
      details:
        'the name of the service on its pages and in its [mails to owners](../guides/accounts.md#the-mails-and-their-links), at most 60 characters',
      default: 'svc',
      example: 'Acme Messaging',
    },
    SVC_CONSOLE: {
      type: 'choice',
      choices: ['on', 'off'],
      summary: 'whether the console is served at /console',
      details:
        'whether the [console](../guides/console.md) is served at `/console`; `/` then leads to it',
      default: 'on',
      example: 'off',
    },
    SVC_MEMBERS_SECOND_FACTOR: {
      type: 'choice',
      choices: ['optional', 'required'],
      summary: 'whether members need a second factor beside the password',
      details:
        'whether members need a [second factor](../guides/console.md#a-second-factor) beside the password, in the console and the API; with `required`, a member without one may only add one. API keys, and sign-ins with OIDC, need none',
      default: 'optional',
      example: 'required',
    },
    SVC_OPERATORS_SECOND_FACTOR: {
      type: 'choice',
      choices: ['optional', 'required'],
      summary: 'whether operators of the console need a second factor',
      details:
        'whether [operators](operators-console.md) need a second factor; with `required`, an operator without one may only add one',
      default: 'optional',
      example: 'required',
    },
    SVC_CONSOLE_IDLE_MINUTES: {
      type: 'whole',
      summary: 'the minutes without a use after which a session of the console ends, 10 or more',
      details:
        'the minutes without a use after which a session of the console ends, of members and operators; exact to 5 minutes. Tokens of the API are not affected',
      default: '240',
      min: 10,
      max: 43_200,
      example: '60',
    },
    SVC_CONSOLE_OPERATORS: {
      type: 'choice',
      choices: ['on', 'off'],
      summary: 'whether the console has pages for operators',
      details:
        'whether the console has [pages for operators](operators-console.md), for the people that `svc operators add` adds',
      default: 'on',
      example: 'off',
    },
    SVC_TRUST_PROXY: {
      type: 'networks',
      summary: 'networks of proxies whose X-Forwarded-For header is trusted',
      details:
        'networks of proxies whose `X-Forwarded-For` header is trusted, such as `10.0.0.0/8`',
      example: '10.0.0.0/8',
    },
    SVC_SMTP_LISTEN: {
      type: 'smtp_addresses',
      summary: 'where programs send mails by SMTP, with an API key as password',
      details:
        'where programs [send mails by SMTP](../guides/smtp-inlet.md), with an API key as password, such as `0.0.0.0:587,0.0.0.0:465`: TLS from the first byte on port 465 and on `smtps://host:port`, STARTTLS elsewhere; `off` for none, also under `svc dev`',
      default_words: 'none',
      example: '0.0.0.0:587,0.0.0.0:465',
    },
    SVC_SMTP_TLS_CERT: {
      type: 'path',
      summary: 'the certificate chain (PEM) for these programs; read again when the file changes',
      details:
        'the certificate chain (PEM) for these programs; read again when the file changes. Required, except on a loopback address',
      example: '/etc/svc/smtp.crt',
    },
    SVC_SMTP_TLS_KEY: {
      type: 'path',
      summary: 'the key (PEM) of this certificate',
      example: '/etc/svc/smtp.key',
    },
    SVC_SMTP_SMS_DOMAIN: {
      type: 'text',
      summary: 'mails to +<number>@ this domain are sent as SMS',
      details: 'mails to `+<number>@` this domain are sent as SMS',
      default_words: '`sms.` and the mail domain, or `sms.sandbox.svc`',
      example: 'sms.example.com',
    },
  },
  accounts: {
    SVC_JWT_SECRET: {
      type: 'session_secret',
      summary: 'signs sessions, 32 bytes or more',
      default_words: 'generated, kept in the database',
      example: 'a-secret-of-at-least-32-bytes-for-sessions',
      is_secret: true,
    },
    SVC_OIDC_ISSUER: {
      type: 'url',
      summary: 'the OIDC provider with which members sign in',
      details:
        'the OIDC provider with which [members sign in](../guides/members.md#sign-in-with-oidc)',
      example: 'https://id.example.com',
      is_part: true,
    },
    SVC_OIDC_CLIENT_ID: {
      type: 'text',
      summary: 'the id of svc at the OIDC provider',
      example: 'svc',
      is_part: true,
    },
    SVC_OIDC_CLIENT_SECRET: {
      type: 'text',
      summary: 'the secret of svc at the OIDC provider',
      example: 'a-secret-of-the-oidc-client',
      is_secret: true,
      is_part: true,
    },
    SVC_OIDC_WORKSPACE: {
      type: 'text',
      summary: 'the workspace whose roles the OIDC provider decides',
      example: '019a9c5e-1d00-7c3a-9a51-3f0c6d1b2e01',
      is_part: true,
    },
    SVC_OIDC_ROLES: {
      type: 'list',
      summary: 'value=role for values of the role claim',
      details:
        '`value=role` for values of the role claim: `admin`, `developer`, `billing`, `viewer`',
      example: 'svc-admins=admin,svc-developers=developer',
      is_part: true,
    },
    SVC_OIDC_ROLE_CLAIM: {
      type: 'text',
      summary: 'the claim with the roles',
      default_words: '`groups`',
      example: 'roles',
      is_part: true,
    },
    SVC_SIGNUP_CREDITS: {
      type: 'credits',
      summary: 'the credits that a new workspace gets',
      details: 'the credits that a new workspace gets (100 under `svc dev`)',
      default: '0',
      example: '100',
    },
    SVC_SIGNUP_CREDITS_ON: {
      type: 'choice',
      choices: ['signup', 'verification'],
      summary: 'when a new workspace gets them: at signup, or when its address is verified',
      details:
        'when a new workspace gets these credits: at signup, or when its [address is verified](../guides/accounts.md#before-an-address-is-verified) for the first time. Not set: `verification` with an `smtp` provider, which sends the mails to owners, else `signup`',
      example: 'verification',
    },
    SVC_SIGNUP_DAILY_LIMIT: {
      type: 'credits',
      summary: 'the most credits that a new workspace may spend in a day',
      details:
        'the most credits that a new workspace may spend in a day (UTC); refunds do not raise it',
      example: '50',
    },
    SVC_LOW_BALANCE: {
      type: 'credits',
      summary: 'the balance below which owners are notified',
      details:
        'the balance below which [owners are notified](../guides/billing.md#when-credits-run-low), for owners without a threshold of their own',
      example: '20',
    },
    SVC_PRICES: {
      type: 'json',
      summary: 'the prices of messages, by channel',
      details:
        'the prices of messages, by channel and [prefix of the number](spend-protection.md#prices)',
      default_words: 'sms 1, whatsapp 0.5, email 0.1, voice 2',
      example: '{"sms":"0.8"}',
      is_part: true,
    },
    SVC_ALLOWED_COUNTRIES: {
      type: 'countries',
      summary: 'the only countries whose numbers may be recipients',
      details:
        'the only [countries](spend-protection.md#countries) whose numbers may be recipients',
      default_words: 'all',
      example: 'TZ,KE',
      is_part: true,
    },
    SVC_DENIED_COUNTRIES: {
      type: 'countries',
      summary: 'countries whose numbers may not be recipients',
      details: '[countries](spend-protection.md#countries) whose numbers may not be recipients',
      example: 'CU,KP',
      is_part: true,
    },
    SVC_SEQUENCE_LIMIT: {
      type: 'rate',
      summary: 'numbers in sequence/seconds that freeze a workspace',
      details:
        'how many [numbers in sequence](spend-protection.md#numbers-in-sequence), in how many seconds, freeze a workspace',
      example: '10/60',
      is_part: true,
    },
  },
  payments: {
    SVC_CREDIT_PACKAGES: {
      type: 'credit_packages',
      summary: 'the packages of credits for sale',
      details: 'the [packages of credits](billing.md) for sale (below); three under `svc dev`',
      example:
        '[{"id":"starter","name":"Starter","credits":1000,"price":{"amount":1000,"currency":"USD"}}]',
    },
    STRIPE_SECRET_KEY: {
      type: 'text',
      summary: 'the secret key of the Stripe account that receives the payments',
      details:
        'the secret key of the Stripe account that receives the payments: [Selling credits](billing.md)',
      example: 'sk_test_example',
      is_secret: true,
      is_part: true,
    },
    STRIPE_WEBHOOK_SECRET: {
      type: 'list',
      summary: 'the signing secret of the webhook endpoint at Stripe',
      details: 'the signing secret, or secrets, of the webhook endpoint at Stripe',
      example: 'whsec_example',
      is_secret: true,
      is_part: true,
    },
    STRIPE_API_URL: {
      type: 'url',
      summary: 'the address of a proxy or stand-in for the API of Stripe',
      details:
        'the address of a proxy or stand-in for the API of Stripe: https, or http on this machine',
      default_words: "Stripe's own",
      example: 'http://127.0.0.1:12111',
      is_part: true,
    },
  },
  providers: {
    SVC_PROVIDERS: {
      type: 'json_or_path',
      summary: 'the providers in the order of their use: a list, or the path of its file',
      details:
        'the [providers](providers.md) in the order in which they are tried: a JSON list, or the path of a file with one',
      default_words: 'the sandbox',
      example: './providers.json',
      is_secret: true,
      is_part: true,
    },
    TWILIO_ACCOUNT_SID: {
      type: 'text',
      summary: 'the account at Twilio',
      details:
        'the account at [Twilio](../guides/twilio.md); makes a provider named `twilio`, with the token and at least one number',
      example: `AC${'0'.repeat(32)}`,
      is_part: true,
    },
    TWILIO_AUTH_TOKEN: {
      type: 'text',
      summary: 'the auth token of this account',
      example: '0'.repeat(32),
      is_secret: true,
      is_part: true,
    },
    TWILIO_SMS_FROM: {
      type: 'list',
      summary: 'numbers at Twilio that send SMS',
      details: 'numbers at Twilio that send SMS; the first is the default sender',
      example: '+15005550006',
      is_part: true,
    },
    TWILIO_WHATSAPP_FROM: {
      type: 'list',
      summary: 'numbers at Twilio that send WhatsApp messages',
      details: 'numbers at Twilio that send WhatsApp messages; the first is the default sender',
      example: '+15005550006',
      is_part: true,
    },
    TWILIO_VOICE_FROM: {
      type: 'list',
      summary: 'numbers at Twilio that make calls',
      details: 'numbers at Twilio that make calls; the first is the default sender',
      example: '+15005550006',
      is_part: true,
    },
    SVC_SMTP_URL: {
      type: 'text',
      summary: 'the mail server: smtp://user:password@host:port or smtps://…',
      details:
        'the mail server, `smtp://user:password@host:port` or `smtps://…`; makes a provider named `smtp` for [e-mail](../guides/email.md) and for the mails to owners',
      example: 'smtps://user:password@smtp.example.com',
      is_secret: true,
      is_part: true,
    },
    SVC_MAIL_DOMAIN: {
      type: 'text',
      summary: 'the domain of the sender addresses of mail',
      example: 'example.com',
      is_part: true,
    },
    SVC_DKIM_SELECTOR: {
      type: 'text',
      summary: 'the DKIM selector of the key that signs mail',
      details:
        'the DKIM selector of the key that signs mail; its public key is at `<selector>._domainkey.<mail domain>`',
      example: 'svc',
      is_part: true,
    },
    SVC_DKIM_KEY_FILE: {
      type: 'path',
      summary: 'the PEM file with the private key that signs mail',
      example: '/etc/svc/dkim.pem',
      is_part: true,
    },
    SVC_MAIL_INTAKE: {
      type: 'host_port',
      summary: 'host:port where the service receives bounces',
      details:
        '`host:port`, or a port of 127.0.0.1, where the service receives [bounces](../guides/email.md)',
      example: '0.0.0.0:2525',
      is_part: true,
    },
    SVC_SELF_SERVICE_DOMAINS: {
      type: 'boolean',
      summary: 'whether workspaces add sending domains themselves',
      details:
        'whether workspaces add, rotate and remove [sending domains](../guides/sending-domains.md) themselves; otherwise the operator does it with `svc domains`',
      default: 'false',
      example: 'true',
    },
    SVC_DOMAINS_DNS: {
      type: 'dns_servers',
      summary: 'DNS servers for the records of sending domains',
      details:
        'DNS servers for the records of [sending domains](../guides/sending-domains.md); `system` means the servers of this machine',
      default_words: "the machine's servers",
      example: '10.0.0.2,10.0.0.3:5353',
    },
  },
  webhooks: {
    SVC_WEBHOOK_ALLOW_HTTP: {
      type: 'boolean',
      summary: 'whether webhooks may use plain http',
      details: 'whether [webhooks](webhooks.md) may use plain http',
      default: 'false',
      example: 'true',
    },
    SVC_WEBHOOK_ALLOW_NETS: {
      type: 'networks',
      summary: 'networks that webhooks may reach although they are not public',
      details:
        'networks that webhooks may reach although they are not public; `svc dev` adds this machine while it listens on a loopback address',
      example: '10.0.0.0/8',
    },
    SVC_WEBHOOK_DNS: {
      type: 'dns_servers',
      summary: "DNS servers for webhooks' hosts, or system",
      details:
        "DNS servers for webhooks' hosts, or `system` for the system's own resolver, `/etc/hosts` included",
      default_words: "the machine's servers",
      example: '10.0.0.2,10.0.0.3:5353',
    },
  },
  limits: {
    SVC_RATE_LIMIT_GENERAL: {
      type: 'rate',
      summary: 'requests/seconds of one API key or session',
      details: 'requests of one API key or session',
      default: '100/60',
      example: '1000/60',
      field: 'rates.general',
    },
    SVC_RATE_LIMIT_WORKSPACE: {
      type: 'rate',
      summary: 'requests/seconds of one workspace, over all its API keys and sessions',
      details:
        'requests of one workspace, over all its API keys and sessions; a request that the limit of its key refuses hardly counts here',
      default_words: 'five times the general limit',
      is_derived: true,
      example: '2000/60',
      field: 'rates.workspace',
    },
    SVC_RATE_LIMIT_CONSOLE: {
      type: 'rate',
      summary: 'requests/seconds of one person in the console',
      details:
        'requests of one person in the console, over all tabs; they do not count in the general limit, and reads not in the limit of the workspace',
      default: '600/60',
      example: '1000/60',
      field: 'rates.console',
    },
    SVC_RATE_LIMIT_BULK: {
      type: 'rate',
      summary: 'bulk requests/seconds of one workspace',
      details: 'bulks that one workspace sends or retries',
      default: '10/300',
      example: '20/300',
      field: 'rates.bulk',
    },
    SVC_RATE_LIMIT_BULK_ESTIMATE: {
      type: 'rate',
      summary: 'estimates of bulks/seconds of one workspace',
      details: 'estimates of bulks of one workspace',
      default_words: 'six times the bulk limit',
      is_derived: true,
      example: '100/300',
      field: 'rates.bulk_estimate',
    },
    SVC_RATE_LIMIT_AUTH: {
      type: 'rate',
      summary: 'sign-in requests/seconds of one address',
      details: 'requests to each sign-in route, by client address and by e-mail address',
      default: '5/900',
      example: '10/900',
      field: 'rates.auth',
    },
    SVC_RATE_LIMIT_ANONYMOUS: {
      type: 'rate',
      summary: 'requests/seconds of one address without credentials',
      details: 'requests of one client address without credentials',
      default: '100/60',
      example: '50/60',
      field: 'rates.anonymous',
    },
    SVC_RATE_LIMIT_FAILED_AUTH: {
      type: 'rate',
      summary: 'wrong keys and tokens/seconds of one address',
      details: 'wrong keys and tokens of one client address; a valid one still passes',
      default: '60/900',
      example: '30/900',
      field: 'rates.failed_auth',
    },
    SVC_RATE_LIMIT_LOGIN_ALL: {
      type: 'rate',
      summary: 'logins/seconds of all addresses together (200 times SVC_RATE_LIMIT_AUTH)',
      details: 'logins of all clients together (below): 200 × `SVC_RATE_LIMIT_AUTH`',
      default_words: '1000/900',
      is_derived: true,
      example: '2000/900',
      field: 'rates.login_all',
    },
    SVC_RATE_LIMIT_SIGNUP_ALL: {
      type: 'rate',
      summary: 'signups/seconds of all addresses together (200 times SVC_RATE_LIMIT_AUTH)',
      details: 'signups of all clients together (below): 200 × `SVC_RATE_LIMIT_AUTH`',
      default_words: '1000/900',
      is_derived: true,
      example: '500/900',
      field: 'rates.signup_all',
    },
    SVC_API_KEYS_MAX: {
      type: 'whole',
      summary: 'the maximum of active API keys of one workspace',
      details: 'the maximum of active API keys, neither deactivated nor expired, of one workspace',
      default: '100',
      example: '500',
      field: 'quotas.api_keys',
    },
    SVC_WEBHOOKS_MAX: {
      type: 'whole',
      summary: 'the maximum of webhooks of one workspace',
      details: 'the maximum of [webhooks](webhooks.md) of one workspace',
      default: '100',
      example: '500',
      field: 'quotas.webhooks',
    },
    SVC_CONTACTS_MAX: {
      type: 'whole',
      summary: 'the maximum of contacts of one workspace',
      details: 'the maximum of contacts of one workspace; an import rejects the rows beyond it',
      default: '100000',
      example: '1000000',
      field: 'quotas.contacts',
    },
    SVC_DOMAINS_MAX: {
      type: 'whole',
      summary: 'the maximum of sending domains of one workspace',
      details: 'the maximum of [sending domains](../guides/sending-domains.md) of one workspace',
      default: '20',
      example: '100',
      field: 'quotas.domains',
    },
    SVC_WEBHOOKS_PER_HOST_MAX: {
      type: 'whole',
      summary: 'the maximum of webhooks of one workspace on one host',
      details: 'the maximum of webhooks of one workspace on one host (name and port)',
      default: '20',
      example: '50',
      field: 'quotas.webhooks_per_host',
    },
    SVC_TEST_MESSAGES_PER_DAY: {
      type: 'whole',
      summary: 'the maximum of messages that test keys of one workspace send in a day (UTC)',
      details:
        'the maximum of messages that the [test keys](spend-protection.md#free-traffic) of one workspace send in a day (UTC)',
      default: '10000',
      example: '100000',
      field: 'quotas.test_messages_per_day',
    },
    SVC_TEST_BYTES_PER_DAY: {
      type: 'whole',
      summary: 'the maximum of bytes in their content and metadata, and in rejected recipients',
      details:
        'the maximum of bytes in the content and metadata of these messages, and in rejected recipients of bulks (64 MB)',
      default: '67108864',
      max: 999_999_999_999,
      example: '1000000000',
      field: 'quotas.test_bytes_per_day',
    },
    SVC_TEST_DELIVERIES_PER_DAY: {
      type: 'whole',
      summary:
        'the maximum of webhook requests about test messages of one workspace in a day (UTC)',
      details:
        'the maximum of webhook requests about test messages of one workspace in a day (UTC); further deliveries are discarded with the error `test_limit`',
      default: '20000',
      example: '100000',
      field: 'quotas.test_deliveries_per_day',
    },
    SVC_TEST_DELIVERIES_PER_SECOND: {
      type: 'whole',
      summary: 'the pace of webhook deliveries about test messages of one workspace',
      details:
        'the webhook deliveries about test messages of one workspace that begin in a second; those of the first 20 s begin at once',
      default: '50',
      example: '200',
      field: 'quotas.test_deliveries_per_second',
    },
    SVC_BULK_RECIPIENTS_MAX: {
      type: 'whole',
      summary: 'the maximum of recipients of one bulk',
      details:
        'the maximum of recipients of one bulk; its body stays within 4 MB, its messages [within 64 million characters](../guides/bulk.md#limits)',
      default: '1000',
      max: 10_000,
      example: '10000',
    },
    SVC_ATTACHMENTS_MAX_MB: {
      type: 'whole',
      summary: 'the maximum of the files of one e-mail together, in MB',
      details:
        'the maximum of the files of one e-mail together, decoded, in MB; the requests, the mails of the [SMTP inlet](../compat/smtp.md) and the memory for them grow with it',
      default: '10',
      max: 40,
      example: '40',
    },
    SVC_OVERLOAD_REQUESTS: {
      type: 'whole',
      summary: 'concurrent requests above which the service refuses requests',
      details: 'concurrent requests above which the service refuses requests (below)',
      default: '4000',
      example: '2000',
      field: 'overload.requests',
    },
    SVC_OVERLOAD_DELAY_MS: {
      type: 'whole',
      summary: 'delay of requests, in milliseconds, above which the service refuses requests',
      details:
        'delay of requests, in milliseconds, above which the service refuses requests (below)',
      default: '1000',
      example: '500',
      field: 'overload.delay_ms',
    },
    SVC_CONNECTIONS_MAX: {
      type: 'whole',
      summary: 'the maximum of connections that are served at once',
      details: 'the maximum of connections that are served at once (below)',
      default: '10000',
      example: '2000',
    },
    SVC_LISTEN_BACKLOG: {
      type: 'whole',
      summary: 'the maximum of connections that wait to be accepted',
      details:
        'the maximum of connections that wait to be accepted, on each port of HTTP and SMTP; Linux allows at most `net.core.somaxconn`, and the service warns at start if that is less',
      default: '4096',
      max: 65_535,
      example: '1024',
    },
  },
  operating: {
    SVC_BACKUP_EVERY: {
      type: 'duration',
      summary: 'the interval at which the server backs up its SQLite database',
      details:
        'the interval at which the server makes a [backup](backup.md) of its SQLite database: `30m`, `6h`, `1d`; 1m to 31d',
      example: '24h',
      is_part: true,
    },
    SVC_BACKUP_DIR: {
      type: 'path',
      summary: 'the folder for backups',
      details: 'the folder for backups, also for `svc backup` without `--to`',
      default_words: 'backups in the data folder',
      example: '/var/backups/svc',
      is_part: true,
    },
    SVC_BACKUP_KEEP: {
      type: 'whole',
      summary: 'how many of these backups the server keeps',
      default: '7',
      max: 10_000,
      example: '30',
      is_part: true,
    },
    SVC_METRICS_LISTEN: {
      type: 'host_port',
      summary: 'host:port where /metrics is served to Prometheus',
      details:
        '`host:port` where [`/metrics`](metrics.md) is served to Prometheus; port 0 takes a free one',
      example: '127.0.0.1:9464',
    },
    SVC_RETENTION_DAYS: {
      type: 'days',
      summary: 'days after which recipients and texts are erased, 7 or more',
      details:
        'days after which [recipients, texts and events are erased](retention.md); the ledger keeps all entries',
      default_words: 'never',
      min: 7,
      max: 36_500,
      example: '90',
    },
    SVC_HISTORY_DAYS: {
      type: 'days',
      summary: 'days after which finished messages, events and deliveries are removed, 7 or more',
      details:
        'days after which [finished messages, bulks, events, deliveries and received messages are removed](retention.md#remove-old-history); the ledger keeps all entries',
      default_words: 'never',
      min: 7,
      max: 36_500,
      example: '365',
    },
    SVC_LEDGER_DAYS: {
      type: 'days',
      summary: 'days after which ledger entries of removed messages are folded, 400 or more',
      details:
        'days after which [ledger entries of removed messages are folded](ledger.md#fold-old-entries) into a signed opening; needs `SVC_HISTORY_DAYS`, and must not be below it',
      default_words: 'never',
      min: 400,
      max: 36_500,
      example: '3650',
    },
    SVC_PARTITIONS_AHEAD: {
      type: 'whole',
      summary: 'months ahead that get partitions, where PostgreSQL is partitioned',
      details:
        'months after the current one that get [partitions](scaling.md#partitions-by-month) by themselves, once `svc partitions enable` ran',
      default: '3',
      max: 24,
      example: '6',
    },
    SVC_AUDIT_RETENTION_DAYS: {
      type: 'days',
      summary: 'days after which entries of the audit log are deleted, 7 or more',
      details: 'days after which entries of the [audit log](audit.md) are deleted',
      default: '365',
      min: 7,
      max: 36_500,
      example: '730',
    },
    SVC_VERIFICATION_RETENTION_DAYS: {
      type: 'days',
      summary: 'days after their end at which records of one-time codes are deleted',
      details:
        'days after their end at which the records of [one-time codes](../guides/one-time-codes.md#what-is-stored) are deleted; counts by country are kept for 30 days',
      default: '30',
      min: 1,
      max: 36_500,
      example: '7',
    },
    SVC_LOG_LEVEL: {
      type: 'choice',
      choices: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
      summary: 'fatal, error, warn, info, debug, trace or silent',
      details: 'the level of the log; `debug` adds a line for each request, attempt and delivery',
      default: 'info',
      example: 'debug',
    },
  },
  client: {
    SVC_URL: {
      type: 'url',
      summary: 'the server',
      details:
        'the server; [the command line](../guides/command-line.md) lists the sources in their order',
      default_words: "svc dev's, or http://127.0.0.1:3000",
      example: 'https://svc.example.com',
    },
    SVC_API_KEY: { type: 'text', summary: 'the API key', example: 'svc_…', is_secret: true },
    SVC_WEBHOOK_SECRET: {
      type: 'text',
      summary: 'the secret that webhooks are signed and verified with',
      details: 'the secret with which `svc webhooks` signs and verifies',
      example: 'whsec_…',
      is_secret: true,
    },
  },
} as const satisfies Record<SettingGroup, Record<string, Row>>

/** The rows of every setting that the service reads, by variable. */
export type ServiceRows = (typeof ROWS)['listening'] &
  (typeof ROWS)['accounts'] &
  (typeof ROWS)['payments'] &
  (typeof ROWS)['providers'] &
  (typeof ROWS)['webhooks'] &
  (typeof ROWS)['limits'] &
  (typeof ROWS)['operating']

/** One setting of the service. */
export interface Setting {
  /** The environment variable, such as `SVC_DATA_DIR`. */
  readonly env: string
  /** The key in a configuration file: `env` in lower case, without `SVC_`. */
  readonly key: string
  readonly group: SettingGroup
  readonly kind: SettingKind
  readonly type: SettingType
  /** The description in one line. */
  readonly summary: string
  /** The description in Markdown, with links relative to docs/operating. */
  readonly details: string
  /** The default as text, or in words; null for none. */
  readonly default: string | null
  /** The default, written as in the environment; null if there is none, or if code computes it. */
  readonly default_text: string | null
  /** The bounds of a number; null for the bounds of its type. */
  readonly min: number | null
  readonly max: number | null
  /** The values of a choice; null for other types. */
  readonly choices: readonly string[] | null
  /** A valid value, written as in the environment. */
  readonly example: string
  /** Whether the value must not be shown. */
  readonly is_secret: boolean
  /** The place in `Config`; null if several settings form one field together. */
  readonly field: string | null
}

/** Every setting, group by group. */
export const SETTINGS: readonly Setting[] = Object.entries<Record<string, Row>>(ROWS).flatMap(
  ([group, rows]) => Object.entries(rows).map(([env, row]) => settingOf(env, row, group)),
)

function settingOf(env: string, row: Row, group: string): Setting {
  const key = env.replace(/^SVC_/, '').toLowerCase()
  const isField = !row.is_part && group !== 'client'
  return {
    env,
    key,
    group: group as SettingGroup,
    kind: SETTING_TYPES[row.type].kind,
    type: row.type,
    summary: row.summary,
    details: row.details ?? row.summary,
    default: row.default ?? row.default_words ?? null,
    default_text: row.default ?? null,
    min: row.min ?? null,
    max: row.max ?? null,
    choices: row.choices ?? null,
    example: row.example,
    is_secret: row.is_secret ?? false,
    field: isField ? (row.field ?? key) : null,
  }
}
