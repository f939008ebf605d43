import type { Project } from './projects.ts'

const TEST = ['node', '--test', 'example.test.js']

/** The folders in `examples`. Each test runs the example as its README describes, against a service of its own. */
export const EXAMPLES: readonly Project[] = [
  {
    name: 'example otp-login-express',
    manager: 'pnpm',
    on_newest_node: true,
    example: 'otp-login-express',
    install: ['@svc/cli'],
    folders: ['example', 'example-otp-login'],
    commands: [TEST],
  },
  {
    name: 'example order-notifications-nextjs',
    manager: 'pnpm',
    example: 'order-notifications-nextjs',
    install: ['@svc/cli'],
    folders: ['example', 'example-order-notifications'],
    commands: [TEST],
  },
  {
    name: 'example embedded-core-fastify',
    manager: 'pnpm',
    on_newest_node: true,
    example: 'embedded-core-fastify',
    install: [],
    folders: ['example', 'example-embedded-core'],
    commands: [TEST],
  },
  {
    name: 'example receiver-hono-bun',
    manager: 'pnpm',
    example: 'receiver-hono-bun',
    install: ['@svc/cli', 'bun'],
    builds: ['bun'],
    folders: ['example', 'example-receiver'],
    commands: [['node', 'node_modules/typescript/bin/tsc'], TEST],
  },
  {
    name: 'example emails-resend',
    manager: 'pnpm',
    example: 'emails-resend',
    install: ['@svc/cli'],
    folders: ['example', 'example-emails-resend'],
    commands: [TEST],
  },
  {
    name: 'example sms-twilio',
    manager: 'pnpm',
    example: 'sms-twilio',
    install: ['@svc/cli'],
    folders: ['example', 'example-sms-twilio'],
    commands: [TEST],
  },
  {
    name: 'example emails-nodemailer',
    manager: 'pnpm',
    example: 'emails-nodemailer',
    install: ['@svc/cli'],
    folders: ['example', 'example-emails-nodemailer'],
    commands: [TEST],
  },
  {
    name: 'example own-provider',
    manager: 'pnpm',
    on_newest_node: true,
    example: 'own-provider',
    install: [],
    folders: ['example', 'example-own-provider'],
    commands: [['node', '--test', 'acme.test.js'], TEST],
  },
]
