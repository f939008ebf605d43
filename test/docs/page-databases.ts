import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { connectTo } from '../../packages/core/test/postgres-client.ts'
import '../../packages/core/test/postgres-database.ts'
import type { Page } from './pages.ts'
import { sectionOf } from './sections.ts'

const ADDRESS = /postgres:\/\/(\w+):password@(?:db(?:-[bc])?\.example|localhost)(?::6432)?\/(\w+)/g
const CREATED = /create (role|database) (\w+)/g
const NAME = /\bsvc(?:_[a-z]+)?\b/g

/** The PostgreSQL databases of a page. Each section has its own roles and databases, under any names. */
export interface PageDatabases {
  /** The lines of a script, with the addresses and names of these databases. */
  withNames(lines: string[]): string[]
  /** Runs statements as a role in its database; `admin` is the superuser. */
  run(role: string, statements: string): Promise<void>
  close(): Promise<void>
}

/** Creates the databases that the addresses of a page name, except those that its own SQL creates. */
export async function openDatabases(page: Page): Promise<PageDatabases> {
  const server = inject('postgresUrl')
  const prefix = `docs_${randomBytes(4).toString('hex')}`
  const sections = page.lines.map((_, i) => sectionOf(page, i + 1))
  const named = (name: string, i: number) =>
    `${prefix}_${sections.indexOf(sections[i] ?? '')}_${name}`
  const run = (url: string, statements: string) => runIn(url, statements)

  const roles = new Set<string>()
  const databases = new Set<string>()
  for (const [i, line] of page.lines.entries()) {
    for (const [, kind, name = ''] of line.matchAll(CREATED)) {
      ;(kind === 'role' ? roles : databases).add(named(name, i))
    }
  }
  for (const [i, line] of page.lines.entries()) {
    for (const [, role = '', name = ''] of line.matchAll(ADDRESS)) {
      if (databases.has(named(name, i))) continue
      databases.add(named(name, i))
      roles.add(named(role, i))
      await run(
        server,
        `create role ${named(role, i)} login;
create database ${named(name, i)} owner ${named(role, i)}`,
      )
    }
  }
  const isSql = new Set(
    page.blocks.flatMap(({ language, line, code }) =>
      language === 'sql' ? code.split('\n').map((_, i) => line + i) : [],
    ),
  )
  return {
    withNames: (lines) =>
      lines.map((line, i) => {
        const addressed = line.replaceAll(ADDRESS, (_, role: string, name: string) =>
          addressOf(server, named(role, i), named(name, i)),
        )
        const names = isSql.has(i) || line.startsWith('sql ')
        return names ? addressed.replaceAll(NAME, (name) => named(name, i)) : addressed
      }),
    run: (role, statements) => {
      const database = role.replace(/_svc_[a-z]+$/, '_svc')
      return run(role === 'admin' ? server : addressOf(server, role, database), statements)
    },
    async close() {
      for (const name of databases)
        await run(server, `drop database if exists ${name} with (force)`)
      for (const name of roles) await run(server, `drop role if exists ${name}`)
    },
  }
}

function addressOf(server: string, role: string, database: string): string {
  const url = new URL(server)
  url.username = role
  url.pathname = `/${database}`
  return url.href
}

async function runIn(url: string, statements: string): Promise<void> {
  const client = await connectTo(url)
  try {
    // One by one: a database cannot be created in a transaction.
    for (const statement of statements.split(/;\s*$/m)) await client.query(statement)
  } finally {
    await client.end()
  }
}
