import { createRequire } from 'node:module'
import { answer } from '../../stage/answer.mjs'

// A mail server that reads each mail, checks nothing and stores nothing. Requests: `BareHandlers` of smtp-inlet.ts.

const server = createRequire(new URL('../../../packages/server/package.json', import.meta.url))
const { SMTPServer } = server('smtp-server')

answer({
  start: () =>
    new Promise((resolve) => {
      const bare = new SMTPServer({
        disabledCommands: ['STARTTLS'],
        disableReverseLookup: true,
        logger: false,
        onAuth: (_auth, _session, done) => done(null, { user: 'bench' }),
        onData(stream, _session, done) {
          stream.resume()
          stream.on('end', () => done())
        },
      })
      bare.listen(0, '127.0.0.1', () => resolve({ port: bare.server.address().port }))
    }),
})
