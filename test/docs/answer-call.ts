import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Call } from './calls.ts'
import { NOT_RUN } from './elsewhere.ts'
import { exists, ROOT } from './pages.ts'
import type { Service } from './service.ts'
import { answerSvc, type World } from './svc-calls.ts'

const OURS = /^@svc\/(?:client|core|server|cli|testkit)$/
const PROGRAM_OF_OURS = /^(?:packages|bench|scripts)\//

/** Runs the call of a page, or checks that its arguments are valid. */
export async function answerCall(
  call: Call,
  world: World & {
    sql: (as: string, statements: string) => Promise<void>
    service: Service
  },
): Promise<number> {
  const { name, argv } = call
  switch (name) {
    case 'svc':
      return answerSvc(call, world)
    case 'npx':
      if (argv[0] !== '@svc/cli') return refused(call)
      return answerSvc({ ...call, argv: argv.slice(1) }, world)
    case 'npm':
    case 'pnpm':
      return answerNpm(call, world)
    case 'node':
      return runUntilItSpeaks(call)
    case 'sql':
      await world.sql(argv.join(' '), await text(call.stdin))
      return 0
  }
  const known = NOT_RUN[name]?.find((one) => one.arguments.test(argv.join(' ')))
  if (!known) return refused(call)
  call.stdout.write(known.prints ?? '')
  // Read to the end, so that the writing program is not cut off.
  await text(call.stdin)
  // The next commands of a page run in its clone.
  if (name === 'git' && argv[0] === 'clone') {
    symlinkSync(world.folder, resolve(call.cwd, argv.at(-1) ?? ''))
  }
  if (name === 'systemctl') await world.service.control(argv)
  return 0
}

function refused({ name, argv, stderr }: Call): number {
  stderr.write(`${name} ${argv.join(' ')}: missing in test/docs/elsewhere.ts\n`)
  return 127
}

function answerNpm(call: Call, world: World): number | Promise<number> {
  const [verb = '', ...rest] = call.argv
  const names = rest.filter((word) => !word.startsWith('-'))
  if (verb === 'start') return answerSvc({ ...call, argv: ['dev'] }, world)
  if (call.argv.includes('--prefix')) return installInto(names, world)
  if (/^(?:install|i|add)$/.test(verb))
    return names.every((name) => OURS.test(name)) ? 0 : refused(call)
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const script = verb === 'run' ? names[0] : verb === 'test' ? verb : undefined
  return script !== undefined && script in scripts ? 0 : refused(call)
}

/** Makes the files of an installation of the packages, as far as the command needs them. */
function installInto([folder = '', ...packages]: string[], world: World): number {
  if (packages.length === 0 || !packages.every((name) => /^(?:\.\/)?dist\/svc-.+\.tgz$/.test(name)))
    return 1
  const bin = join(folder, 'node_modules/.bin')
  mkdirSync(bin, { recursive: true })
  symlinkSync(join(world.folder, 'bin/svc'), join(bin, 'svc'))
  return 0
}

/** A program of the repository that runs until a signal ends it. */
async function runUntilItSpeaks({ argv, env, stdout, stderr, gone }: Call): Promise<number> {
  const file = argv.find((word) => PROGRAM_OF_OURS.test(word)) ?? ''
  if (!exists(file)) {
    stderr.write(`${file}: no such file\n`)
    return 1
  }
  const child = spawn(process.execPath, argv, { cwd: ROOT, env, signal: gone })
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  child.on('error', () => {})
  child.stderr.pipe(stderr, { end: false })
  const spoke = await Promise.race([
    new Promise<Buffer>((resolve) => child.stdout.once('data', resolve)),
    ended,
  ])
  if (!Buffer.isBuffer(spoke)) return spoke ?? 1
  stdout.write(spoke)
  child.kill()
  await ended
  return 0
}
