import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename } from 'node:path'
import type { Tarball } from './tarballs.ts'

/** A package registry on this machine that contains only the tarballs. */
export interface Registry {
  readonly url: string
  close(): void
}

/** Starts a registry. A project that configures it for `@svc` installs as if the packages were published. */
export async function startRegistry(tarballs: readonly Tarball[]): Promise<Registry> {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '')
    const tarball = tarballs.find(({ file }) => path === `/${basename(file)}`)
    const described = tarballs.find(({ manifest }) => path === `/${manifest.name}`)
    if (tarball) {
      response.end(readFileSync(tarball.file))
    } else if (described) {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(description(described, url)))
    } else {
      response.writeHead(404).end()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return {
    url,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function description({ manifest, file }: Tarball, url: string) {
  const { name, version } = manifest
  const sha512 = createHash('sha512').update(readFileSync(file)).digest('base64')
  const dist = { tarball: `${url}${basename(file)}`, integrity: `sha512-${sha512}` }
  return {
    name,
    'dist-tags': { latest: version },
    versions: { [version]: { ...manifest, dist } },
  }
}
