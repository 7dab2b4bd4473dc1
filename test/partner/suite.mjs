// node --test test/partner/suite.mjs, or bun test ./test/partner/suite.mjs: see partner.system.test.ts.
import './requests.mjs'
import './changes.mjs'
import './control.mjs'
