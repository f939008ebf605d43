module.exports = { setupFilesAfterEnv: ['@svc/testkit/jest'], transform: {} }
