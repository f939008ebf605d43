/** Reasons why a command is not run here. */
const ROOT_ONLY = 'changes the machine; needs root'
const INSTALLS = 'installs from the network'
const ITSELF = 'is a run of the tests, or takes minutes'

/**
 * Programs that a page may call and that are not run here, with the valid arguments. A call with other arguments
 * fails.
 */
export const NOT_RUN: Readonly<
  Record<string, { arguments: RegExp; why: string; prints?: string }[]>
> = {
  'apt-get': [{ arguments: /^(?:update|install -y [\w.+-]+(?: [\w.+-]+)*)$/, why: INSTALLS }],
  curl: [
    {
      arguments: /^-fsSL?O? https:\/\/nodejs\.org\/dist\/v[\d.]+\/[\w.-]+$/,
      why: INSTALLS,
      prints: '0 node-linux-x64.tar.xz\n',
    },
  ],
  tar: [
    {
      arguments: /^-xJf node-\S+\.tar\.xz -C \S+ --strip-components=1 --no-same-owner$/,
      why: INSTALLS,
    },
  ],
  sha256sum: [{ arguments: /^-c$/, why: INSTALLS }],
  useradd: [{ arguments: /^(?:--[\w-]+ (?:\/\S+ )?)+svc$/, why: ROOT_ONLY }],
  nginx: [{ arguments: /^-t$/, why: 'the tests of the server run deploy/nginx with a real nginx' }],
  certbot: [{ arguments: /^certonly --webroot -w \S+ -d \S+ --deploy-hook .+$/, why: INSTALLS }],
  git: [
    { arguments: /^clone \S+ \S*svc$/, why: INSTALLS },
    {
      arguments: /^(?:commit -am .+|tag v\S+|fetch --tags|checkout v\S+)$/,
      why: 'changes the repository',
    },
  ],
  systemctl: [
    {
      arguments:
        /^(?:daemon-reload|(?:--now )?(?:enable|disable|start|stop|restart|reload|status|is-active)(?: --now)?(?: [\w@.-]+)+)$/,
      why: ROOT_ONLY,
    },
  ],
  pg_dump: [
    { arguments: /^--format=custom --file=svc\.dump postgres:/, why: 'belongs to PostgreSQL' },
  ],
  createdb: [{ arguments: /^\w+$/, why: 'belongs to PostgreSQL' }],
  pg_restore: [
    { arguments: /^--dbname=\S+ --exit-on-error svc\.dump$/, why: 'belongs to PostgreSQL' },
  ],
  podman: [
    { arguments: /^build -f deploy\/Containerfile -t svc \.$/, why: INSTALLS },
    { arguments: /^run -d(?: (?:--?[a-z-]+) \S+)+ svc$/, why: INSTALLS },
    { arguments: /^secret create [\w-]+ \S+$/, why: INSTALLS },
  ],
  '.ci/run': [{ arguments: /^$/, why: ITSELF }],
}

/** Scripts of package.json that a page may name; they are not run but must exist. */
export const NPM_NOT_RUN = { install: INSTALLS, run: ITSELF, test: ITSELF }

/** Programs of the machine that pages may use. */
export const TOOLS = [
  'awk',
  'base64',
  'basename',
  'bash',
  'cat',
  'chmod',
  'cmp',
  'cp',
  'cut',
  'date',
  'diff',
  'dirname',
  'echo',
  'env',
  'false',
  'find',
  'grep',
  'gzip',
  'gunzip',
  'head',
  'jq',
  'ln',
  'ls',
  'mkdir',
  'mktemp',
  'mv',
  'openssl',
  'printf',
  'pwd',
  'rm',
  'sed',
  'seq',
  'sh',
  'sleep',
  'sort',
  'stat',
  'tail',
  'tee',
  'test',
  'touch',
  'tr',
  'true',
  'uniq',
  'wc',
  'xargs',
  'zcat',
] as const
