CREATE TABLE "test_deliveries" (
	"workspace_id" text PRIMARY KEY NOT NULL,
	"day" integer NOT NULL,
	"attempts" integer NOT NULL
);
