/** An example program: the packages that it installs, and how it is tested. */
export interface Project {
  readonly name: string
  readonly manager: 'npm' | 'pnpm'
  /** The packages to install, by the names that a user types; for an example, those that only its test needs. */
  readonly install: readonly string[]
  /** The folders in `test/packages` whose files it gets. */
  readonly folders: readonly string[]
  /** Files from the code blocks of the guides, by the word after `js`. */
  readonly blocks?: Readonly<Record<string, string>>
  /** The folder in `examples` whose files it gets, `package.json` included: its dependencies are installed too. */
  readonly example?: string
  /** The packages whose install scripts may run, with pnpm. */
  readonly builds?: readonly string[]
  /** A TypeScript file that names every export. */
  readonly everything?: string
  readonly commands: readonly (readonly string[])[]
  /** Whether it is also tried with the newest supported version of Node; `npm run node-matrix` installs the service with each. */
  readonly on_newest_node?: true
}

const TEST = ['node', '--test']

/**
 * Every package is installed by both npm and pnpm. npm compiles the native module again for each project, which takes
 * a minute, so one npm project has everything that needs it; pnpm reuses its build.
 */
export const PROJECTS: readonly Project[] = [
  {
    name: 'the core in a Fastify app, and the command',
    manager: 'npm',
    install: ['@svc/core', '@svc/cli', 'fastify'],
    folders: ['embedded', 'command'],
    blocks: { 'setup.js': 'setup', 'app.js': 'fastify-app', 'acme.js': 'acme' },
    commands: [
      [...TEST, 'app.test.js', 'provider.test.js'],
      [...TEST, 'svc.test.js'],
    ],
  },
  {
    name: 'the client in Node, Bun and Deno',
    manager: 'npm',
    install: ['@svc/client', 'bun', 'deno'],
    folders: ['client'],
    commands: [[...TEST, 'use.test.js']],
  },
  {
    name: 'the client in a TypeScript 5 program',
    manager: 'pnpm',
    install: ['@svc/client', 'typescript@5'],
    folders: ['client-types'],
    commands: [[...TEST, 'types.test.js']],
  },
  {
    name: 'the testkit with jest',
    manager: 'npm',
    install: ['@svc/testkit', 'jest'],
    folders: ['testkit-jest'],
    commands: [['node', '--experimental-vm-modules', 'node_modules/jest/bin/jest.js', '--ci']],
  },
  {
    name: 'the testkit with jest in a CommonJS program',
    manager: 'npm',
    on_newest_node: true,
    install: ['@svc/testkit', '@svc/client', 'jest'],
    folders: ['testkit-jest-commonjs'],
    commands: [['node', 'node_modules/jest/bin/jest.js', '--ci']],
  },
  {
    name: 'the core in an Express app',
    manager: 'pnpm',
    install: ['@svc/core', '@svc/testkit', 'express'],
    folders: ['embedded'],
    blocks: {
      'setup.js': 'setup',
      'app.js': 'express-app',
      'acme.js': 'acme',
      'acme.test.js': 'acme-test',
    },
    commands: [[...TEST, 'app.test.js', 'provider.test.js', 'acme.test.js']],
  },
  ...(['fastify', 'express', 'hono'] as const).map(
    (host): Project => ({
      name: `the API in a server with ${host}`,
      manager: 'pnpm',
      install: [
        '@svc/core',
        '@svc/server',
        host,
        ...(host === 'hono' ? ['@hono/node-server'] : []),
      ],
      folders: ['mounted'],
      blocks: { 'setup.js': 'setup', 'app.js': `mounted-${host}` },
      commands: [[...TEST, 'app.test.js']],
    }),
  ),
  {
    name: 'the API in a Next.js app',
    manager: 'pnpm',
    install: ['@svc/core', '@svc/server', 'next@16', 'react@19', 'react-dom@19'],
    folders: ['next'],
    blocks: {
      'setup.js': 'setup',
      'next.config.mjs': 'next-config',
      'lib/svc.js': 'next-svc',
      'app/messaging/[...path]/route.js': 'next-route',
    },
    commands: [
      ['node', 'node_modules/next/dist/bin/next', 'build'],
      [...TEST, 'app.test.js'],
    ],
  },
  {
    name: 'the core in a second program',
    manager: 'pnpm',
    on_newest_node: true,
    install: ['@svc/core'],
    folders: ['core'],
    commands: [[...TEST, 'elsewhere.test.js']],
  },
  {
    name: 'a server, and the testkit with a service',
    manager: 'pnpm',
    on_newest_node: true,
    install: ['@svc/server', '@svc/core', '@svc/testkit'],
    folders: ['server'],
    commands: [[...TEST, 'server.test.js', 'service.test.js']],
  },
  {
    name: 'the command',
    manager: 'pnpm',
    on_newest_node: true,
    install: ['@svc/cli'],
    folders: ['command'],
    commands: [[...TEST, 'svc.test.js']],
  },
  {
    name: 'a CommonJS program',
    manager: 'pnpm',
    on_newest_node: true,
    install: ['@svc/core', '@svc/server', '@svc/testkit'],
    folders: ['commonjs'],
    commands: [[...TEST, 'require.test.cjs']],
  },
  {
    name: 'the testkit with node:test',
    manager: 'pnpm',
    install: ['@svc/testkit'],
    folders: ['testkit-node'],
    commands: [[...TEST, 'receiver.test.js']],
  },
  {
    name: 'the testkit with vitest',
    manager: 'pnpm',
    install: ['@svc/testkit', 'vitest'],
    folders: ['testkit-vitest'],
    commands: [['node', 'node_modules/vitest/vitest.mjs', 'run']],
  },
  {
    name: 'a TypeScript program',
    manager: 'pnpm',
    install: [
      '@svc/client',
      '@svc/core',
      '@svc/server',
      '@svc/testkit',
      'vitest',
      'expect',
      'typescript@6',
      '@types/node@20',
    ],
    folders: ['typescript'],
    everything: 'everything.ts',
    commands: [[...TEST, 'types.test.js']],
  },
]
