import { accessSync, chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { NOT_RUN, TOOLS } from './elsewhere.ts'

const STAND_IN = fileURLToPath(new URL('stand-in.mjs', import.meta.url))

/**
 * Makes a folder with all programs that a page can use: some of the machine, and stand-ins that send their calls to
 * the socket `calls`.
 */
export function writePrograms(folder: string, calls: string): string {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  for (const name of TOOLS) symlinkSync(programOf(name), join(bin, name))
  const write = (name: string, text: string) => {
    const file = join(name.includes('/') ? folder : bin, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `#!/bin/bash\n${text}\n`)
    chmodSync(file, 0o755)
  }
  const node = process.execPath
  // After `--`: otherwise Node 20 reads a program's `--env-file` as its own.
  const forward = (name: string) => `exec ${node} -- ${STAND_IN} ${calls} ${name} "$@"`
  const forwarded = ['svc', 'npx', 'npm', 'pnpm', 'sql', ...Object.keys(NOT_RUN)]
  for (const name of forwarded) write(name, forward(name))
  write('node', `case " $* " in *" packages/"*) ${forward('node')} ;; esac\nexec ${node} "$@"`)
  // An HTTP error must end the script of a page.
  write(
    'curl',
    `case " $* " in *" https://"*) ${forward('curl')} ;; esac
case " $* " in *" -f"*) ;; *) set -- --fail-with-body "$@" ;; esac
exec ${programOf('curl')} -sS --max-time 20 "$@"`,
  )
  // The user of the service does not exist here.
  write(
    'install',
    `for word; do shift; case $word in -o | -g) skip=1 ;; *) [ "\${skip-}" ] || set -- "$@" "$word"; skip= ;; esac; done
exec ${programOf('install')} "$@"`,
  )
  return bin
}

function programOf(name: string): string {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    try {
      accessSync(join(folder, name))
      return join(folder, name)
    } catch {}
  }
  throw new Error(`this machine has no ${name}, which pages use`)
}
